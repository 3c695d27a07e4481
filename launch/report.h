// launch/report.h: how a failure is told to the person who started the program.
#pragma once

#include <chrono>
#include <exception>
#include <string>

namespace weft {

class Communicator;

int exit_code_of(const std::exception& e);  // docs/reliability.md

// "weft: what went wrong", then the "while ..." frames, innermost first; host and rank if there are several ranks; the
// place in the source only for our own bugs.
std::string failure_text(const std::exception& e, int rank, int world_size, const std::string& host);

// How long a rank waits before it says so. Several ranks often fail for the same reason: the lowest one speaks and
// takes the others down. What follows from another rank's failure (ErrorKind::peer) waits for its cause.
std::chrono::milliseconds delay_before_report(const std::exception& e, int rank);

// Prints it once, after that delay. Returns the exit status.
int report_failure(const std::exception& e, const Communicator* world);

}  // namespace weft
