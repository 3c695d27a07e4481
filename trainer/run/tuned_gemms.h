// trainer/run/tuned_gemms.h: keeps what train.tune_gemm chose, for the next start, in `tuned_gemms` of a run's folder.
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

// Times the products for which `kept`, the main rank's choices, has none. The run's folder keeps the choices, because
// another start would choose differently. All ranks call it. Returns a line for the log; "" if nothing was timed.
std::string tune_gemms(Trainer& trainer, const std::string& run, const std::string& kept, Communicator& world);

}  // namespace weft
