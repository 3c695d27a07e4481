// trainer/run/tuned_gemms.h: the file `tuned_gemms` of a run's folder: what train.tune_gemm chose, for the next start.
//
// It is the text of Context::Runtime::tune, then a line with its SHA-256.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "trainer/trainer.h"

namespace weft {

// Empty if there is none. Throws an Error of kind io if the file is damaged: with other choices the run would not go
// on as before.
std::string read_tuned_gemms(const std::string& run);
void write_tuned_gemms(const std::string& run, const std::string& text);

// Times the products that `kept`, the main rank's, has no choice for. The run's folder keeps the choices: another start
// would choose differently. All ranks call it. Returns a line for the log, empty if nothing was timed.
std::string tune_gemms(Trainer& trainer, const std::string& run, const std::string& kept, Communicator& world);

}  // namespace weft
