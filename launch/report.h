// launch/report.h: how a failure is told to the person who started the program.
#pragma once

#include <exception>
#include <string>

namespace weft {

class Communicator;

int exit_code_of(const std::exception& e);  // docs/reliability.md

// "weft: what went wrong", then the "while ..." frames, innermost first; host and rank if there are several ranks; the
// place in the source only for our own bugs.
std::string failure_text(const std::exception& e, int rank, int world_size, const std::string& host);

// Prints it once: several ranks often fail for the same reason, so higher ranks wait a moment, in which the lowest
// failing rank speaks and takes the others down. Returns the exit status.
int report_failure(const std::exception& e, const Communicator* world);

}  // namespace weft
