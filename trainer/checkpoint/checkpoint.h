// trainer/checkpoint/checkpoint.h: checkpoints: a folder, whole or not at all, in global layout, so that any grid loads
// any of them.
//
// Format: docs/checkpoint-format.md. Under ROOT (a run's `checkpoints`): step-00001200/ with model.safetensors,
// optimizer.safetensors, state.json, config.cfg, the tokenizer models and MANIFEST.json (sizes and SHA-256, written
// last); ROOT/latest and ROOT/best name one of them. Written under a temporary name, fsync, rename, fsync of the
// folder.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/mesh.h"

namespace weft {

// A flat buffer laid out like ParamStore's values, on any device: it goes through the host a tensor at a time. In its
// file each tensor is called prefix + parameter name.
struct FlatState {
  std::string file;    // "model" or "optimizer": which safetensors file of the folder
  std::string prefix;  // "" for values, "adam.m." and "adam.v." for the moments
  Tensor flat;
};

struct CheckpointExtras {                                 // small files that make a checkpoint usable on its own
  std::string config;                                     // text of config.cfg
  std::vector<std::string> copied_files;                  // paths copied in under their own names (tokenizer models)
  std::map<std::string, std::string> renamed_files = {};  // name in the checkpoint -> path that is copied there
};

// All ranks call it. dp rank 0 of each tp rank contributes its slices; world rank 0 writes. Returns the folder's path.
// A value that is not finite on any rank is an Error of kind diverged before a file is made. What goes wrong on one
// rank is the same Error on all; the temporary folder is gone then, and older checkpoints are untouched. A whole folder
// of this step is never overwritten; a damaged one is renamed to step-N.damaged-PID. `state` and `extras` of rank 0
// count. The buffers lie on ctx's device, of which nothing is seen in the files.
std::string save_checkpoint(Context& ctx, const std::string& root, int64_t step, const Mesh& mesh,
                            const ParamStore& params, const std::vector<FlatState>& buffers,
                            const nlohmann::json& state, const CheckpointExtras& extras);

// Fills this rank's slices; each rank calls it by itself. The files are verified and every tensor is checked (name,
// dtype, global shape, no NaN or infinity) before any is touched. `buffers` may leave out the optimizer: its file is
// then not read. Returns state.json.
nlohmann::json load_checkpoint(Context& ctx, const std::string& folder, const ParamStore& params,
                               const std::vector<FlatState>& buffers);

// What follows here touches files only and does not communicate: world rank 0 calls it, and tells the others.

// The newest folder under ROOT whose files verify; each one passed over is reported on stderr with the reason. Empty if
// there is no step folder at all; an Error of kind checkpoint if there are some and none is whole.
std::optional<std::string> find_latest_checkpoint(const std::string& root);

// `path` may be a step folder, a run's checkpoints folder, or a run's folder (then: best if there is one, else latest).
std::string resolve_checkpoint(const std::string& path);

void point_to(const std::string& root, const std::string& pointer, const std::string& step_folder);  // "latest", "best"
void prune_checkpoints(const std::string& root, int64_t keep_last);  // keep_last >= 1; the pointers' targets stay too

}  // namespace weft
