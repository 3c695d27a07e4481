// trainer/inference/model_loader.cpp: loads the tokenizers and the weights of a checkpoint.
#include "trainer/inference/model_loader.h"

#include <nlohmann/json.hpp>

#include <filesystem>

#include "tensor/error.h"
#include "tensor/transfer.h"
#include "trainer/checkpoint/stored_model.h"

namespace weft {
namespace {

// Sinusoids exist for any position, so the size of their table need not depend on the training data.
constexpr int64_t kNumPositions = 1024;

void match_vocabulary(const Tokenizer& tokenizer, int64_t vocabulary, const char* side, const std::string& folder) {
  if (tokenizer.size() == vocabulary) return;
  fail(ErrorKind::checkpoint, fmt::format("{}: the {} tokenizer has {} entries, but config.cfg has model.{}_vocabulary "
                                          "= {}",
                                          folder, side, tokenizer.size(), side, vocabulary));
}

// Replaces the base's values of the weights that adapters change.
void merge_adapters(const StoredModel& stored, const Replica& replica) {
  for (const std::string& name : stored.adapted()) {
    const Param* p = replica.params().find(name);
    if (p == nullptr) fail(ErrorKind::checkpoint, fmt::format("{}: {} is not in the model", stored.folder(), name));
    std::vector<float> global(static_cast<size_t>(p->spec.shape.numel())), own(static_cast<size_t>(p->numel()));
    stored.read(name, global.data());
    slice_from_global(*p, global.data(), own.data());
    upload(replica.context(), own.data(), p->value.with_shape({p->numel()}));
  }
}

}  // namespace

Tokenizers load_tokenizers(const std::string& folder) {
  const std::string joint = folder + "/tokenizer.model";
  if (std::filesystem::exists(joint)) {
    const auto both = std::make_shared<const Tokenizer>(joint);
    return {.source = both, .target = both};
  }
  return {.source = std::make_shared<const Tokenizer>(folder + "/source.model"),
          .target = std::make_shared<const Tokenizer>(folder + "/target.model")};
}

LoadedModel::LoadedModel(const std::string& folder, const RunConfig& config, const Mesh& mesh, StoredWeights weights,
                         DType compute)
    : folder_(folder), config_(config) {
  const ErrorFrame frame(fmt::format("while opening the checkpoint {}", folder_));
  all_or_none(mesh.world(), [&] { open(); });
  replica_ = all_or_none(mesh.world(), [&] {
    const bool is_int8 = compute == DType::i8;
    return std::make_unique<Replica>(config_, mesh, is_int8 ? DType::f32 : compute, kNumPositions,
                                     is_int8 ? ParamUse::int8_inference : ParamUse::inference);
  });
  all_or_none(mesh.world(), [&] {
    const ParamStore& params = replica_->params();
    const FlatState values{"model", "", params.values()};
    if (const std::string base = base_of(folder_); base.empty()) {
      load_checkpoint(replica_->context(), folder_, params, {stored_weights(folder_, weights, values)});
    } else {
      load_checkpoint(replica_->context(), base, params, {values});
      merge_adapters(StoredModel(folder_, weights), *replica_);
    }
    params.round_values(replica_->context());
    step_ = read_checkpoint_manifest(folder_).step;
  });
}

void LoadedModel::open() {
  tokenizers_ = load_tokenizers(folder_);
  match_vocabulary(source_tokenizer(), config_.model.source_vocabulary, "source", folder_);
  match_vocabulary(target_tokenizer(), config_.model.target_vocabulary, "target", folder_);
  config_.model.lora = {};  // merged
  config_.model.resolve(config_.parallel.tp);
}

}  // namespace weft
