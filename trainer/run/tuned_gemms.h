// trainer/run/tuned_gemms.h: the file `tuned_gemms` of a run's folder: what train.tune_gemm chose, for the next start.
//
// It is the text of Context::Runtime::tune, then a line with its SHA-256.
#pragma once

#include <string>

namespace weft {

// Empty if there is none. Throws an Error of kind io if the file is damaged: with other choices the run would not go
// on as before.
std::string read_tuned_gemms(const std::string& run);
void write_tuned_gemms(const std::string& run, const std::string& text);

}  // namespace weft
