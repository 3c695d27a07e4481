// trainer/plan/memory_plan.h: the memory of one rank at its peak, known before the first step.
//
// Tensors are counted exactly, by running the real passes dry; what the loader holds is estimated from the corpus'
// totals; the program itself is measured. On a GPU tensors lie in its memory, and the rest is the host's; on the CPU
// all is the resident memory of the process. docs/model.md says what each part is.
#pragma once

#include <cstddef>
#include <string>

#include "parallel/rank_device.h"
#include "parallel/tensor_parallel.h"
#include "trainer/run_config.h"

namespace weft {

struct MemoryPlan {  // bytes
  Device device = Device::cpu;
  size_t parameters = 0;  // and the table of sinusoids
  size_t copies = 0;      // of the parameters, rounded; 0 in f32
  size_t gradients = 0, moments = 0;
  size_t activations = 0;  // the arena of one block
  size_t scratch = 0;      // what products and attention work in
  size_t translation = 0;  // caches and arena of the validation's decoder
  size_t messages = 0;     // of reductions under way between ranks
  size_t data = 0;         // read ahead, and the validation set with its tokenizers
  size_t program = 0;      // resident already: the program, its libraries, what they hold

  size_t tensors() const {  // in the device's memory
    return parameters + copies + gradients + moments + activations + scratch + translation;
  }
  size_t total() const { return tensors() + messages + data + program; }
};

// Of this rank's part of a model; `config` is resolved, its precision decided. No parameters are allocated, nothing is
// communicated.
MemoryPlan plan_memory(const RunConfig& config, const TensorParallel& tp, const RankDevice& own = {});
MemoryPlan plan_tensors(const RunConfig& config, const TensorParallel& tp, Device device);  // without the rest

std::string describe(const MemoryPlan& memory, const char* storage);  // "1.2 GiB a rank: parameters 240 MiB, ..."

size_t resident_bytes();  // of this process, now
size_t peak_resident_bytes();

}  // namespace weft
