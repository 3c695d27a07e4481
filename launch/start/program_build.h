// launch/start/program_build.h: tells which build of Weft and of the MPI library this process runs.
//
// Ranks of different builds may round differently or even wait in different collectives, so they must not run together.
#pragma once

#include <string>

#include "parallel/communicator.h"

namespace weft {

// Returns the loaded parts with their build IDs (ELF), for example "weft 0.2.0-98576381, x86-64-v4/libweft_tensor.so
// ffc74798, libmpi.so.40 2a2f4d8c". The folder of libweft_tensor.so depends on the processor.
std::string program_build();
inline constexpr char kBuildLine[] = "build: ";  // begins the line of `weft --version` that contains program_build()

// Returns the first part of `own` that differs from `main`, as "libmpi.so.40 2a2f4d8c instead of 90bc7c52", or "".
// Ignores parts that only one of the two has, because processors of different kinds load different libraries.
std::string build_difference(const std::string& main, const std::string& own);

// Throws a usage Error on all ranks if this rank's `build` differs from the main rank's. All ranks must call this.
void require_same_build(const std::string& build, Communicator& world);

}  // namespace weft
