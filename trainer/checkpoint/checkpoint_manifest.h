// trainer/checkpoint/checkpoint_manifest.h: defines the names in a run's checkpoints folder, and the manifest, which
// lists the sizes and digests of a checkpoint's files (docs/formats/checkpoint-format.md).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checked_file.h"

namespace weft {

inline constexpr char kManifestName[] = "MANIFEST.json";
inline constexpr char kStateFile[] = "state.json";
inline constexpr char kConfigFile[] = "config.cfg";

struct StoredTensor {
  std::string file, dtype;
  std::vector<int64_t> shape;  // global
};

struct CheckpointManifest {
  int64_t format_version = 1;  // the oldest version that can describe the folder
  int64_t step = 0;
  std::string weft_version;
  int64_t dp = 1, tp = 1;  // grid that wrote the checkpoint; for information only
  std::map<std::string, FileDigest> files;
  std::map<std::string, StoredTensor> tensors;
};

std::string step_folder_name(int64_t step);                   // "step-00001200"
std::optional<int64_t> step_of_folder(const std::string& n);  // nullopt for other names
int64_t step_of_checkpoint(const std::string& path);          // for a path such as .../step-00001200

// Returns true for the temporary name of a step folder (data/atomic_file.h). Readers ignore such folders.
bool is_temporary_name(const std::string& name);

bool is_plain_file_name(const std::string& name);  // no slash or control character, not "." or ".."

FileDigest write_checkpoint_manifest(const std::string& folder, const CheckpointManifest& manifest);

// Reads the manifest, verifies its digest and fields, and checks that each listed file exists and has the listed size.
CheckpointManifest read_checkpoint_manifest(const std::string& folder);

// Verifies the SHA-256 of each file without tensors: configuration, state, tokenizers.
void verify_small_files(const std::string& folder, const CheckpointManifest& manifest);

void verify_checkpoint(const std::string& folder);  // verifies manifest, sizes and the SHA-256 of every file

}  // namespace weft
