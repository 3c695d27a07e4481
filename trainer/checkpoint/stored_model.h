// trainer/checkpoint/stored_model.h: reads the weights of a checkpoint by parameter name, with adapters merged.
//
// A run with adapters (lora.rank) copies the model that it adapts to RUN/checkpoints/base once, as a checkpoint. Its
// own checkpoints contain only the adapters. Their state.json contains the digest of the base, and the adapters'
// factor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft {

inline constexpr char kModelFile[] = "model.safetensors", kAdaptersKey[] = "adapters";

struct AdapterState {  // of state.json
  std::string base;    // SHA-256 of the base's model.safetensors
  double scale = 1;    // lora.alpha / lora.rank
};

std::string base_root(const std::string& checkpoints);  // the folder of the base beside step folders

// Returns the step folder of the base of a checkpoint of adapters, or "" if the checkpoint contains a whole model.
// Throws an Error of kind checkpoint if the base is missing, or is not the model that was adapted.
std::string base_of(const std::string& checkpoint);

class StoredModel {  // verifies all bytes that it reads
 public:
  StoredModel(const std::string& folder, StoredWeights which);
  StoredModel(const StoredModel&) = delete;
  StoredModel(StoredModel&&) = default;

  static bool is_tokenizer(const std::string& file) { return file.ends_with(".model"); }
  const std::string& folder() const { return folder_; }
  const CheckpointManifest& manifest() const { return manifest_; }
  const std::map<std::string, std::vector<int64_t>>& shapes() const { return base_ ? base_->shapes_ : shapes_; }
  int64_t numel(const std::string& name) const;
  std::vector<std::string> adapted() const;  // names of the weights that adapters change
  bool adapts(const std::string& name) const { return adapters_.contains(name); }

  void read(const std::string& name, float* values) const;
  // Reads `count` values from index `first`. REQUIRES: !adapts(name).
  void read(const std::string& name, int64_t first, int64_t count, float* values) const;
  // Returns a tensor of adapters, such as "encoder.0.self_attention.qkv.q.lora_a".
  std::vector<float> adapter(const std::string& name) const { return stored(name); }
  void require_same_model(const StoredModel& other) const;

 private:
  struct Place {
    const SafetensorsFile* file;
    std::string name;
  };
  struct Adapter {        // of one part of a weight
    std::string name;     // its tensors are name.lora_a [r, in] and name.lora_b [out, r]
    int64_t part, parts;  // of the weight's rows
  };

  std::vector<float> stored(const std::string& name) const;
  void read_stored(const std::string& name, float* values) const;
  void find_adapters();
  void add(const Adapter& adapter, int64_t count, float* values) const;

  std::string folder_;
  CheckpointManifest manifest_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::vector<int64_t>> shapes_;    // of the tensors in the checkpoint itself
  std::unique_ptr<StoredModel> base_;                     // of a checkpoint of adapters
  std::map<std::string, std::vector<Adapter>> adapters_;  // by the name of the weight
  double scale_ = 1;
};

}  // namespace weft
