// trainer/checkpoint/checkpoint.h: saves and loads checkpoints, which are folders that every grid of ranks can load.
//
// docs/formats/checkpoint-format.md describes the format. ROOT, a run's folder `checkpoints`, contains step folders
// such as step-00001200/ with model.safetensors, optimizer.safetensors (or several files), state.json, config.cfg, the
// tokenizer models and MANIFEST.json (sizes and SHA-256, written last). The links ROOT/latest and ROOT/best point to
// step folders. A save writes a temporary folder, calls fsync, renames the folder, and calls fsync on ROOT.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "trainer/checkpoint/checkpoint_saver.h"
#include "trainer/checkpoint/file_layout.h"

namespace weft {

// Saves a checkpoint and waits until it is complete (checkpoint_saver.h). Returns the folder's path.
std::string save_checkpoint(Context& ctx, const std::string& root, const Mesh& mesh,
                            const CheckpointContents& contents);

// Returns the content of a checkpoint's state.json. Verifies the checkpoint's small files and reads no tensor.
nlohmann::json read_checkpoint_state(const std::string& folder);

// Reads this rank's slices into `buffers` without communication, and returns state.json. Before any buffer changes,
// verifies the files and checks every tensor's name, dtype and global shape. After a later Error, because a value is
// not finite or cannot be read, the buffers are undefined. Reads optimizer files only for buffers of the optimizer.
nlohmann::json load_checkpoint(Context& ctx, const std::string& folder, const ParamStore& params,
                               const std::vector<FlatState>& buffers);

// Does the same as load_checkpoint() on all ranks of `readers`, but returns nothing. The main rank reads the files and
// broadcasts each tensor. `verified`: the caller has checked the digests of the tensor files.
void load_tensors(Context& ctx, const std::string& folder, const ParamStore& params,
                  const std::vector<FlatState>& buffers, Communicator& readers, bool verified);

// With StoredWeights::evaluation, stored_weights() selects the average (train.ema) if the checkpoint contains one, and
// otherwise the training weights. load_checkpoint() then reads the selected weights into `values`.
enum class StoredWeights : uint8_t { evaluation, training };
bool has_average(const std::string& folder);  // reads the manifest
FlatState stored_weights(const std::string& folder, StoredWeights which, const FlatState& values);

// The functions below access files without communication. World rank 0 calls them and broadcasts the results.

// Removes all temporary checkpoints. REQUIRES: the caller has locked the run, so that nothing else writes checkpoints.
void remove_temporary_checkpoints(const std::string& root);

std::vector<std::string> step_folders(const std::string& root);  // paths, newest first; not verified

// Returns the newest intact step folder under ROOT, and prints each skipped folder with the reason to stderr. Returns
// nullopt if there is no step folder. Throws an Error of kind checkpoint if there are step folders, but none is intact.
std::optional<std::string> find_latest_checkpoint(const std::string& root);

// Returns `path` if it is a step folder. For a run's folder or checkpoints folder, returns the best or else newest one.
std::string resolve_checkpoint(const std::string& path);

// A checkpoint that prune_checkpoints() does not remove while this object exists. The lease is a shared flock on
// the manifest; the run asks for an exclusive one first. On a file system without locks, only the race remains.
struct CheckpointLease {
  std::string folder;
  FileDescriptor manifest;
};
CheckpointLease lease_checkpoint(const std::string& path);  // resolves the path again if its checkpoint has just gone
// Leases all step folders under ROOT, newest first, except those that a run removes at this moment. Verifies nothing.
std::vector<CheckpointLease> lease_step_folders(const std::string& root);

void point_to(const std::string& root, const std::string& pointer, const std::string& step_folder);  // "latest", "best"
std::optional<std::string> pointed_at(const std::string& root,
                                      const std::string& pointer);                       // name of the step folder
void remove_checkpoints_after(const std::string& root, const std::string& step_folder);  // keeps the links' targets
// Returns the newest checkpoint up to `step` (inclusive), or "". Checks only name and manifest.
std::string newest_checkpoint_until(const std::string& root, int64_t step);
// Does the same, but verifies all bytes. Skips damaged checkpoints and prints each of them to stderr.
std::string newest_whole_checkpoint_until(const std::string& root, int64_t step);
// Removes all checkpoints except the newest `keep_last` (at least 1), the targets of links, the newest one up to step
// `good_until` and the one after it (trainer/health/divergence.h; -1: neither), the steps in `needed`, and multiples of
// `keep_every` (0: none).
void prune_checkpoints(const std::string& root, int64_t keep_last, int64_t keep_every, int64_t good_until = -1,
                       const std::vector<int64_t>& needed = {});
bool has_checkpoint(const std::string& root, int64_t step);  // checks only name and manifest

}  // namespace weft
