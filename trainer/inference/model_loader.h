// trainer/inference/model_loader.h: loads a trained model from a checkpoint's folder.
//
// The folder is self-contained: it contains config.cfg, which describes the model, the tokenizer models and the
// tensors. The caller reads config.cfg (trainer/config/config_text.h) and may change `parallel` and `decode`. All ranks
// of the world load the model together; either all succeed or all throw the same Error.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/replica.h"

namespace weft {

// Source and target tokenizer of a packed corpus or a checkpoint: a joint tokenizer, or one per side.
struct Tokenizers {
  std::shared_ptr<const Tokenizer> source, target;  // the same object if joint
};
Tokenizers load_tokenizers(const std::string& folder);

class LoadedModel {
 public:
  // `folder` comes from resolve_checkpoint. `compute` is the storage type of activations and weights. REQUIRES:
  // `config` is the configuration saved in the folder, with `parallel` resolved for the mesh.
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
