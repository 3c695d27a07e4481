// launch/report.h: reports a failure to the user.
#pragma once

#include <chrono>
#include <exception>
#include <string>

namespace weft {

class Communicator;

int exit_code_of(const std::exception& e);  // docs/reliability.md lists the codes

// Returns "weft: MESSAGE (FRAMES)", innermost frame first. If there are several ranks, the text also contains the host
// and the rank. Internal errors also show the source location.
std::string failure_text(const std::exception& e, int rank, int world_size, const std::string& host);

// Returns how long a rank waits before it reports an error. Several ranks often fail for the same reason, so the lowest
// rank reports first and aborts the other ranks. A rank waits longer if its error follows from another rank's failure
// (ErrorKind::peer). If all ranks have the same error, the others wait 10 s for rank 0 to report it and abort them. A
// usage error counts as one of all ranks, because they have the same arguments.
// If several ranks share a core, everything takes longer, also the end of the other ranks.
std::chrono::milliseconds delay_before_report(const std::exception& e, int rank, int ranks_per_core = 1);

// Waits for delay_before_report(), prints the failure and returns the exit status.
int report_failure(const std::exception& e, const Communicator* world);

}  // namespace weft
