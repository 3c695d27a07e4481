// trainer/checkpoint/file_layout.h: which tensors a checkpoint's files hold, where this rank has their values, and
// which rank writes each file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/parameters/param_store.h"

namespace weft {

// A flat buffer laid out like ParamStore's values, on any device, perhaps without some of them. In its file each tensor
// is called prefix + parameter name. Of a state that is sharded over dp, `flat` shows the whole only after gather(),
// and until the next state's: all ranks of the dp group call it together. What is written there counts after take().
struct FlatState {
  std::string kind;    // "model", "optimizer" or "average"
  std::string prefix;  // "" for values, such as "adam.m." for a moment, "average." for the average
  ParamBuffer flat;
  std::function<void()> gather = {}, take = {};  // empty: not sharded
};

inline constexpr char kAverageKind[] = "average", kAveragePrefix[] = "average.";

struct TensorSource {  // where this rank has its slice of a stored tensor
  const Param* param;
  Tensor local;  // [n] of the buffer
  const FlatState* state;
};

using TensorSources = std::map<std::string, TensorSource>;  // by name, which is their order in a file
using FileLayout = std::map<std::string, TensorSources>;    // by kind

// `buffers` outlive it. An Error of kind internal if one is not laid out like the parameters, or two tensors have one
// name.
FileLayout file_layout(const Context& ctx, const ParamStore& params, const std::vector<FlatState>& buffers);

std::vector<int64_t> dims_of(const Shape& shape);

struct CheckpointFile {
  std::string name;
  int writer = 0;  // world rank
  TensorSources tensors;
};

// Divides the tensors' bytes evenly among `ranks` writers, but gives none less than `smallest_share` bytes. The
// parameters are always one file, model.safetensors, of rank 0. The optimizer's state is optimizer.safetensors or,
// of several writers, optimizer-00001-of-00004.safetensors and so on; so is the average of the weights.
std::vector<CheckpointFile> divide_into_files(const FileLayout& layout, int ranks, int64_t smallest_share);

int64_t stored_bytes(const std::vector<CheckpointFile>& files, int writer);

// The files among `names` that hold tensors of `kind`.
std::vector<std::string> files_of_kind(const std::vector<std::string>& names, const std::string& kind);

}  // namespace weft
