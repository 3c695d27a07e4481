// trainer/checkpoint/checkpoint.h: checkpoints are folders, written atomically in global layout for every grid.
//
// docs/formats/checkpoint-format.md describes the format. ROOT (a run's `checkpoints`) contains step-00001200/ with
// model.safetensors, optimizer.safetensors (or several files), state.json, config.cfg, the tokenizer models and
// MANIFEST.json (sizes and SHA-256, written last). The links ROOT/latest and ROOT/best name one of these folders. A
// save writes under a temporary name, then calls fsync, rename and fsync of the folder.
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

// Returns state.json of a checkpoint. Verifies its small files and reads no tensor.
nlohmann::json read_checkpoint_state(const std::string& folder);

// Fills this rank's slices without communication. Verifies the files and checks every tensor's name, dtype and global
// shape before any buffer changes. The buffers are undefined after an Error because a value is not finite or cannot be
// read. If `buffers` omits the optimizer, its file is not read. Returns state.json.
nlohmann::json load_checkpoint(Context& ctx, const std::string& folder, const ParamStore& params,
                               const std::vector<FlatState>& buffers);

// Does the same on all ranks of `readers`, without state.json: the main rank reads the files and broadcasts each
// tensor. `verified`: the digests of the tensors' files have been checked before.
void load_tensors(Context& ctx, const std::string& folder, const ParamStore& params,
                  const std::vector<FlatState>& buffers, Communicator& readers, bool verified);

// stored_weights() returns where a checkpoint stores the weights for evaluation: the average if there is one
// (train.ema), otherwise the training weights. `values` is where load_checkpoint() puts them.
enum class StoredWeights : uint8_t { evaluation, training };
bool has_average(const std::string& folder);  // reads the manifest
FlatState stored_weights(const std::string& folder, StoredWeights which, const FlatState& values);

// The functions below only access files and do not communicate. World rank 0 calls them and broadcasts the result.

std::vector<std::string> step_folders(const std::string& root);  // directly under it, newest first; not checked

// Returns the newest folder under ROOT whose files verify, and reports skipped ones with the reason on stderr. Returns
// nothing if there is no step folder. Throws an Error of kind checkpoint if none of them is intact.
std::optional<std::string> find_latest_checkpoint(const std::string& root);

// `path` is a step folder, a run's checkpoints folder or a run's folder (then: best if it exists, otherwise latest).
std::string resolve_checkpoint(const std::string& path);

void point_to(const std::string& root, const std::string& pointer, const std::string& step_folder);  // "latest", "best"
std::optional<std::string> pointed_at(const std::string& root, const std::string& pointer);  // its step folder's name
void remove_checkpoints_after(const std::string& root, const std::string& step_folder);  // except the links' targets
// Returns the newest checkpoint of at most this step, judged by name and manifest, or "".
std::string newest_checkpoint_until(const std::string& root, int64_t step);
// Does the same but verifies all bytes. Damaged ones are skipped and reported on standard error.
std::string newest_whole_checkpoint_until(const std::string& root, int64_t step);
// Keeps the newest keep_last (at least 1), the targets of links, the newest of at most step `good_until` and the next
// one (trainer/health/divergence.h; -1: neither), those of the steps `needed` and, unless keep_every is 0, its
// multiples.
void prune_checkpoints(const std::string& root, int64_t keep_last, int64_t keep_every, int64_t good_until = -1,
                       const std::vector<int64_t>& needed = {});
bool has_checkpoint(const std::string& root, int64_t step);  // judged by name and manifest

}  // namespace weft
