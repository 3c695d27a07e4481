// tensor/refused_recording.h: defines the Error of a device, or of a library, that cannot record work. It is separate
// from context.h because nvcc cannot compile error.h.
#pragma once

#include <string>

#include "tensor/error.h"

namespace weft {

class RefusedRecording : public Error {
 public:
  explicit RefusedRecording(const std::string& reason) : Error(ErrorKind::usage, reason) {}
};

}  // namespace weft
