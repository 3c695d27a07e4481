// trainer/run/tuned_gemms.h: keeps the choices of train.tune_gemm for the next start, in RUN/tuned_gemms.
//
// The file contains the text of Context::Runtime::tune, then a line with its SHA-256.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "trainer/trainer.h"

namespace weft {

// Returns "" if there is none. Throws an Error of kind io if the file is damaged, because with other choices the run
// would not continue exactly.
std::string read_tuned_gemms(const std::string& run);
void write_tuned_gemms(const std::string& run, const std::string& text);

// Times the products missing from `kept`, the main rank's choices. Stores the choices in the run's folder, because a
// later start might choose differently. All ranks call it. Returns a line for the log; "" if nothing was timed.
std::string tune_gemms(Trainer& trainer, const std::string& run, const std::string& kept, Communicator& world);

}  // namespace weft
