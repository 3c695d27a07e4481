// trainer/inference/model_loader.h: loads a trained model from a checkpoint's folder.
//
// The folder contains everything that a model needs: its configuration (config.cfg), tokenizers and tensors. The caller
// reads config.cfg (trainer/config/config_text.h) and may change `parallel` and `decode`. All ranks of the world must
// load the model together. Either all ranks succeed, or all throw the same Error.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/replica.h"

namespace weft {

// The tokenizers of a packed corpus or a checkpoint: one joint tokenizer, or one for each side.
struct Tokenizers {
  std::shared_ptr<const Tokenizer> source, target;  // the same object if the tokenizer is joint
};
Tokenizers load_tokenizers(const std::string& folder);

class LoadedModel {
 public:
  // `folder` is a result of resolve_checkpoint(). `compute` is the storage type of activations and weights, or i8
  // (ParamUse::int8_inference). REQUIRES: `config` is the configuration saved in the folder, with `parallel` resolved
  // for the mesh.
  LoadedModel(const std::string& folder, const RunConfig& config, const Mesh& mesh,
              StoredWeights weights = StoredWeights::evaluation, DType compute = DType::f32);

  const RunConfig& config() const { return config_; }
  const std::string& folder() const { return folder_; }
  int64_t step() const { return step_; }
  const Replica& replica() const { return *replica_; }
  const Tokenizer& source_tokenizer() const { return *tokenizers_.source; }
  const Tokenizer& target_tokenizer() const { return *tokenizers_.target; }

 private:
  void open();

  std::string folder_;
  RunConfig config_;
  Tokenizers tokenizers_;
  std::unique_ptr<Replica> replica_;
  int64_t step_ = 0;
};

}  // namespace weft
