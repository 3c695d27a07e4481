// trainer/plan/memory_plan.h: computes the peak memory of one rank before the first step.
//
// Dry runs of the real passes count the bytes of tensors exactly. The totals of the corpus give an estimate for the
// loader, and the memory of the program itself is measured. A run on a GPU has its tensors in GPU memory, and the rest
// in host memory. On a CPU, everything is resident memory of the process. docs/hardware/memory.md explains each part.
#pragma once

#include <cstddef>
#include <string>

#include "parallel/placement/rank_device.h"
#include "parallel/tensor_parallel.h"
#include "trainer/plan/planned_data.h"

namespace weft {

struct MemoryPlan {  // bytes
  Device device = Device::cpu;
  size_t parameters = 0;  // including the table of sinusoids
  size_t copies = 0;      // parameters rounded to a type other than f32, or packed
  size_t gradients = 0, moments = 0;
  size_t average = 0;      // average of the weights (train.ema)
  size_t activations = 0;  // the arena of one block
  size_t scratch = 0;      // work space of GEMMs and attention
  size_t translation = 0;  // caches and arena of the validation's decoder
  size_t messages = 0;     // buffers of collectives in flight
  size_t saving = 0;       // copy of this rank's part of a checkpoint
  size_t data = 0;         // pairs read ahead, the validation set, tokenizers
  size_t program = 0;      // already resident: the program and its libraries

  size_t packed = 0, workspace = 0;  // packed copies, and the optimizer's scratch
  size_t less_by_shards = 0;         // bytes of parameters, moments and average saved by parallel.zero

  size_t tensors() const {  // in the device's memory
    return parameters + copies + gradients + moments + average + activations + scratch + translation;
  }
  // Estimates the bytes of tensors on a GPU from a plan for a CPU, without packed copies, the ops' scratch and the
  // validation's decoder.
  size_t tensors_of_gpu() const { return tensors() - packed - (scratch - workspace) - translation; }
  size_t total() const { return tensors() + messages + saving + data + program; }
};

// All plan this rank's part without allocating parameters or communicating. REQUIRES: the precision is resolved.
MemoryPlan plan_memory(const ResolvedRun& run, const TensorParallel& tp, const RankDevice& own = {});
// Plans a run on CPUs that is not this process, with assumed sizes of its corpora and its program.
MemoryPlan plan_memory_of(const RunConfig& config, const PlannedData& data, const TensorParallel& tp);
MemoryPlan plan_tensors(const RunConfig& config, const TensorParallel& tp, Device device);  // only the tensors

// Returns the total, its three largest parts, and the sum of the others: "1.2 GiB per rank: parameters 240 MiB, ...".
std::string describe(const MemoryPlan& memory, const char* storage);

size_t resident_bytes();  // resident memory of this process; 0 if unknown

}  // namespace weft
