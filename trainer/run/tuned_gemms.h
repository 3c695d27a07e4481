// trainer/run/tuned_gemms.h: stores the GEMM choices of train.tune_gemm in RUN/tuned_gemms for the next start.
//
// The file contains the text of Context::Runtime::tune, then a line with its SHA-256.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "trainer/trainer.h"

namespace weft {

// Returns "" if the file does not exist. Throws an Error of kind io if the file is damaged, because results with
// different choices would not be bit-identical.
std::string read_tuned_gemms(const std::string& run);
void write_tuned_gemms(const std::string& run, const std::string& text);

// Times the matrix products missing from the main rank's `kept`. Stores all choices in the run's folder, because a
// later start might choose differently. All ranks call it. Returns a line for the log; "" if nothing was timed.
std::string tune_gemms(Trainer& trainer, const std::string& run, const std::string& kept, Communicator& world);

}  // namespace weft
