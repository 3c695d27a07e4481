// launch/report.h: reports a failure to the user.
#pragma once

#include <chrono>
#include <exception>
#include <string>

namespace weft {

class Communicator;

int exit_code_of(const std::exception& e);  // docs/reliability.md

// Returns "weft: MESSAGE (FRAMES)", innermost frame first. The text contains host and rank if there are several ranks,
// and the source location only for internal errors.
std::string failure_text(const std::exception& e, int rank, int world_size, const std::string& host);

// Returns the time that a rank waits before it reports. Several ranks often fail for the same reason, so the lowest
// rank reports first and aborts the other ranks. A rank waits longer if its error follows from another rank's failure
// (ErrorKind::peer). If all ranks have the same error, they give rank 0 10 s to report it and to abort them.
std::chrono::milliseconds delay_before_report(const std::exception& e, int rank);

// Prints the failure once, after delay_before_report(). Returns the exit status.
int report_failure(const std::exception& e, const Communicator* world);

}  // namespace weft
