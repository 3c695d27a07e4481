// trainer/checkpoint/checkpoint.h: checkpoints: folders written atomically, in global layout, so that every
// grid can load them.
//
// Format: docs/checkpoint-format.md. Under ROOT (a run's `checkpoints`): step-00001200/ with
// model.safetensors, optimizer.safetensors, state.json, config.cfg, the tokenizer models and MANIFEST.json
// (sizes and SHA-256, written last). The links ROOT/latest and ROOT/best name one of them. A save writes
// under a temporary name, then calls fsync, rename and fsync of the folder.
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

// A flat buffer laid out like ParamStore's values, on any device; it is copied through the host one tensor at
// a time. In its file each tensor is called prefix + parameter name.
struct FlatState {
  std::string file;    // "model" or "optimizer": which safetensors file of the folder
  std::string prefix;  // "" for values, "adam.m." and "adam.v." for the moments
  Tensor flat;
};

struct CheckpointExtras {                         // small files that make a checkpoint usable on its own
  std::string config;                             // text of config.cfg
  std::map<std::string, std::string> files = {};  // name -> contents: the tokenizer models
};

// All ranks call it. dp rank 0 of each tp rank contributes its slices; world rank 0 writes. Returns the
// folder's path. A value that is not finite on any rank is an Error of kind diverged before a file is made.
// An Error on one rank is thrown on all; the temporary folder is then removed, and older checkpoints are
// untouched. A whole folder of this step is never overwritten; a damaged one is renamed to
// step-N.damaged-PID. `state` and `extras` of rank 0 are used. The buffers are on ctx's device; the files do
// not depend on it.
std::string save_checkpoint(Context& ctx, const std::string& root, int64_t step, const Mesh& mesh,
                            const ParamStore& params, const std::vector<FlatState>& buffers,
                            const nlohmann::json& state, const CheckpointExtras& extras);

// Fills this rank's slices, without communication. Before any buffer changes, the files are verified and
// every tensor is checked (name, dtype, global shape, no NaN or infinity). If `buffers` leaves out the
// optimizer, its file is not read. Returns state.json.
nlohmann::json load_checkpoint(Context& ctx, const std::string& folder, const ParamStore& params,
                               const std::vector<FlatState>& buffers);

// The functions below only access files and do not communicate: world rank 0 calls them and broadcasts the
// result.

std::vector<std::string> step_folders(const std::string& root);  // directly under it, newest first; not checked

// The newest folder under ROOT whose files verify; skipped ones are reported on stderr with the reason. Empty
// if there is no step folder; an Error of kind checkpoint if none of them is whole.
std::optional<std::string> find_latest_checkpoint(const std::string& root);

// `path` may be a step folder, a run's checkpoints folder, or a run's folder (then: best if there is one, else latest).
std::string resolve_checkpoint(const std::string& path);

void point_to(const std::string& root, const std::string& pointer, const std::string& step_folder);  // "latest", "best"
// Keeps the newest keep_last (at least 1), the links' targets, and, if keep_every is not 0, steps that it divides.
void prune_checkpoints(const std::string& root, int64_t keep_last, int64_t keep_every);

}  // namespace weft
