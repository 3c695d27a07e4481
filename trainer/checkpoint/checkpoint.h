// trainer/checkpoint/checkpoint.h: checkpoints: folders written atomically, in global layout, so that every
// grid can load them.
//
// Format: docs/checkpoint-format.md. Under ROOT (a run's `checkpoints`): step-00001200/ with
// model.safetensors, optimizer.safetensors (or several files), state.json, config.cfg, the tokenizer models and
// MANIFEST.json (sizes and SHA-256, written last). The links ROOT/latest and ROOT/best name one of them. A save writes
// under a temporary name, then calls fsync, rename and fsync of the folder.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint_saver.h"
#include "trainer/checkpoint/file_layout.h"

namespace weft {

// Saves and waits for it (checkpoint_saver.h). Returns the folder's path.
std::string save_checkpoint(Context& ctx, const std::string& root, const Mesh& mesh,
                            const CheckpointContents& contents);

// state.json of a checkpoint. Its small files are verified; no tensor is read.
nlohmann::json read_checkpoint_state(const std::string& folder);

// Fills this rank's slices, without communication. Before any buffer changes, the files are verified, and every
// tensor's name, dtype and global shape are checked. After an Error because of a value that is not finite, or cannot be
// read, the buffers are undefined. If `buffers` leaves out the optimizer, its file is not read. Returns state.json.
nlohmann::json load_checkpoint(Context& ctx, const std::string& folder, const ParamStore& params,
                               const std::vector<FlatState>& buffers);

// The same on all ranks of `readers`, without state.json: the main rank reads the files and broadcasts each tensor.
// `verified`: the digests of the tensors' files have been checked before.
void load_tensors(Context& ctx, const std::string& folder, const ParamStore& params,
                  const std::vector<FlatState>& buffers, Communicator& readers, bool verified);

// The weights that a checkpoint has for evaluation: the average if there is one (train.ema), else those of the step.
// `values`: where load_checkpoint() puts them.
enum class StoredWeights : uint8_t { evaluation, training };
bool has_average(const std::string& folder);  // reads the manifest
FlatState stored_weights(const std::string& folder, StoredWeights which, const FlatState& values);

// The functions below only access files and do not communicate: world rank 0 calls them and broadcasts the
// result.

std::vector<std::string> step_folders(const std::string& root);  // directly under it, newest first; not checked

// The newest folder under ROOT whose files verify; skipped ones are reported on stderr with the reason. Empty
// if there is no step folder; an Error of kind checkpoint if none of them is whole.
std::optional<std::string> find_latest_checkpoint(const std::string& root);

// `path` may be a step folder, a run's checkpoints folder, or a run's folder (then: best if there is one, else latest).
std::string resolve_checkpoint(const std::string& path);

void point_to(const std::string& root, const std::string& pointer, const std::string& step_folder);  // "latest", "best"
std::optional<std::string> pointed_at(const std::string& root, const std::string& pointer);  // its step folder's name
void remove_checkpoints_after(const std::string& root, const std::string& step_folder);  // except the links' targets
// The newest of at most this step, by its name and manifest; empty if there is none.
std::string newest_checkpoint_until(const std::string& root, int64_t step);
// The same by all its bytes; damaged ones are reported on standard error and passed over.
std::string newest_whole_checkpoint_until(const std::string& root, int64_t step);
// Keeps the newest keep_last (at least 1), the links' targets, the newest of at most step `good_until` and the one
// after it (trainer/health/divergence.h; -1: neither), those of the steps `needed`, and, if keep_every is not 0, steps
// that it divides.
void prune_checkpoints(const std::string& root, int64_t keep_last, int64_t keep_every, int64_t good_until = -1,
                       const std::vector<int64_t>& needed = {});
bool has_checkpoint(const std::string& root, int64_t step);  // by its name and manifest

}  // namespace weft
