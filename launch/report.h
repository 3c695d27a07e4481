// launch/report.h: reports a failure to the user.
#pragma once

#include <chrono>
#include <exception>
#include <string>

namespace weft {

class Communicator;

int exit_code_of(const std::exception& e);  // docs/reliability.md

// "weft: MESSAGE", then the "while ..." frames, innermost first; with host and rank if there are several
// ranks; with the source location only for internal errors.
std::string failure_text(const std::exception& e, int rank, int world_size, const std::string& host);

// Delay of a rank's report. Several ranks often fail for the same reason: the lowest one reports it and
// aborts the others. Consequences of another rank's failure (ErrorKind::peer) wait for their cause. An error that all
// ranks have is left to rank 0 for 10 s, in which it aborts them.
std::chrono::milliseconds delay_before_report(const std::exception& e, int rank);

// Prints the failure once, after that delay. Returns the exit status.
int report_failure(const std::exception& e, const Communicator* world);

}  // namespace weft
