// trainer/checkpoint/file_layout.h: decides which tensors a checkpoint's files contain, where this rank keeps their
// values, and which rank writes each file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/parameters/param_store.h"

namespace weft {

// A flat buffer on any device with the layout of ParamStore's values. Some parameters may be absent. In files, the name
// of a tensor is `prefix` followed by the parameter's name. If the state is sharded over dp, gather() assembles the
// complete state in `flat`, where it stays until another state is gathered, and take() copies `flat` back into the
// shards. All ranks of the dp group call gather() and take() together.
struct FlatState {
  std::string kind;    // "model", "optimizer" or "average"
  std::string prefix;  // "" for values, "adam.m." for the first moment, "average." for the average
  ParamBuffer flat;
  std::function<void()> gather = {}, take = {};  // empty: not sharded
};

inline constexpr char kAverageKind[] = "average", kAveragePrefix[] = "average.";

struct TensorSource {  // where this rank keeps its slice of a stored tensor
  const Param* param;
  Tensor local;  // slice [n] of the buffer
  const FlatState* state;
};

using TensorSources = std::map<std::string, TensorSource>;  // by name, which is the order in a file
using FileLayout = std::map<std::string, TensorSources>;    // by kind

// Throws an Error of kind internal if a buffer is not laid out like the parameters or two tensors have the same name.
// REQUIRES: `buffers` outlive the result.
FileLayout file_layout(const Context& ctx, const ParamStore& params, const std::vector<FlatState>& buffers);

std::vector<int64_t> dims_of(const Shape& shape);

struct CheckpointFile {
  std::string name;
  int writer = 0;  // world rank
  TensorSources tensors;
};

// Divides the bytes of all tensors evenly among at most `ranks` writers, each of which gets at least `smallest_share`
// bytes. Rank 0 always writes the parameters, in the single file model.safetensors. The optimizer state is in
// optimizer.safetensors or, if there are several writers, in optimizer-00001-of-00004.safetensors and so on. The
// average of the weights is divided in the same way.
std::vector<CheckpointFile> divide_into_files(const FileLayout& layout, int ranks, int64_t smallest_share);

int64_t stored_bytes(const std::vector<CheckpointFile>& files, int writer);

// Returns the files among `names` that contain tensors of `kind`.
std::vector<std::string> files_of_kind(const std::vector<std::string>& names, const std::string& kind);

}  // namespace weft
