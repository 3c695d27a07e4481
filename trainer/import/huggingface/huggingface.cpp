// trainer/import/huggingface/huggingface.cpp: copies the tensors of transformers' models to the places of Weft's
// parameters.
#include <algorithm>
#include <array>
#include <memory>

#include "data/batch.h"
#include "trainer/export/names/huggingface_names.h"
#include "trainer/import/foreign_model.h"
#include "trainer/import/huggingface/huggingface_config.h"
#include "trainer/import/huggingface/huggingface_vocabulary.h"
#include "trainer/import/imported_model.h"

namespace weft {
namespace {

constexpr float kExcluded = -1e8f;  // logits below this have probability 0 (kPaddingLogit of the exporter)

constexpr const char* kTables[] = {"model.shared.weight", "lm_head.weight", "model.encoder.embed_tokens.weight",
                                   "model.decoder.embed_tokens.weight"};

// True for tensors that transformers saves or once saved, but that repeat others or are computed.
bool is_redundant(const std::string& name, const ModelConfig& c) {
  if (name.ends_with(".embed_positions.weight") || name.ends_with(".embed_positions.weights"))
    return c.positions != Positions::learned;
  if (name.ends_with("encoder.version") || name.ends_with("decoder.version")) return true;
  if (name == "lm_head.weight") return c.tying != Tying::none;
  if (name == "model.encoder.embed_tokens.weight" || name == "model.decoder.embed_tokens.weight")
    return c.tying == Tying::all;
  return name == "model.shared.weight";
}

class HuggingFaceReader {
 public:
  explicit HuggingFaceReader(const std::string& folder)
      : config_(read_huggingface_config(folder)),
        model_{.from = folder,
               .config = "config.json",
               .files = open_huggingface_weights(folder),
               .tensors = huggingface_names(config_.model),  // with the foreign sizes of tables
               .width = config_.model.width,
               .unused_positions = config_.unused_positions} {}

  ImportedModel read() {
    bool& has_bias = config_.model.bias_output;
    has_bias &= model_.files.has("final_logits_bias");  // without it, transformers adds zeros
    find_shared_table();
    if (!has_bias) model_.drop_output_bias();
    model_.check([this](const std::string& name) { return is_redundant(name, config_.model); });
    check_tied_tables();
    config_.has_padding_row = has_padding_row();
    // A bias of zeros, which transformers does not train, is no part of the model. Weft's own exports have one.
    if (has_bias) has_bias = model_.has_values("final_logits_bias", config_.has_padding_row ? -1 : config_.padding);
    if (!has_bias) model_.drop_output_bias();
    const ImportedVocabularies vocabularies = read_huggingface_vocabularies(model_.from, config_);
    model_.source_rows = vocabularies.source.rows, model_.target_rows = vocabularies.target.rows;
    RunConfig config{.model = config_.model, .decode = config_.decode};
    config.model.start_token = start_token();
    config.decode.allow_unknown =
        std::ranges::count(config_.never_predicted, vocabularies.target.rows[SpecialIds::unk]) == 0;
    // Weft never predicts padding and begin of sentence.
    const std::array<int64_t, 4> known = {config_.padding, config_.bos, config_.start,
                                          vocabularies.target.rows[SpecialIds::unk]};
    if (std::ranges::any_of(config_.never_predicted,
                            [&](int64_t id) { return std::ranges::find(known, id) == known.end(); }))
      config_.unused_options.push_back("bad_words_ids");
    return {.config = imported_config(std::move(config), vocabularies),
            .tokenizers = tokenizers_of(vocabularies),
            .read = [model = std::make_shared<const ForeignModel>(std::move(model_))](
                        const std::string& name, float* values) { model->read(name, values); },
            .unused_options = config_.unused_options};
  }

 private:
  // A file may have the table of both sides only under one of its other names.
  void find_shared_table() {
    if (config_.model.tying != Tying::all || model_.files.has(shared_)) return;
    const auto* found = std::ranges::find_if(kTables, [&](const char* name) { return model_.files.has(name); });
    if (found == std::end(kTables)) return;
    for (ForeignTensor& tensor : model_.tensors)
      if (tensor.name == shared_) tensor.name = *found;
    shared_ = *found;
  }

  // transformers unties tables that differ.
  void check_tied_tables() const {
    const Tying tying = config_.model.tying;
    const std::string first = tying == Tying::all ? shared_ : "model.decoder.embed_tokens.weight";
    for (const std::string other : kTables)
      if (other != first && model_.files.has(other) &&
          (tying == Tying::all || (tying == Tying::output && other == "lm_head.weight")) &&
          !model_.files.are_equal(first, other))
        fail(ErrorKind::checkpoint, fmt::format("{}: {} differs from {}, although config.json ties them",
                                                model_.files.file_of(other), other, first));
  }

  // Weft's exports add padding with a bias that makes its probability 0. Such a bias must not remain, because label
  // smoothing would multiply it.
  bool has_padding_row() const {
    if (config_.padding < 0 || !config_.model.bias_output) return true;
    float bias = 0;
    model_.files.read("final_logits_bias", config_.padding, 1, &bias);
    return bias > kExcluded;
  }

  // A start token whose embedding is 0, such as Marian's, remains so during training.
  StartToken start_token() const {
    if (config_.start == config_.eos) return StartToken::eos;
    std::vector<float> row(static_cast<size_t>(model_.width));
    const std::string table = config_.model.tying == Tying::all ? shared_ : "model.decoder.embed_tokens.weight";
    model_.files.read(table, config_.start * model_.width, model_.width, row.data());
    return std::ranges::all_of(row, [](float v) { return v == 0; }) ? StartToken::zero : StartToken::bos;
  }

  HuggingFaceConfig config_;
  ForeignModel model_;
  std::string shared_ = kTables[0];  // name of the table of both sides
};

}  // namespace

ImportedModel import_huggingface(const std::string& folder) { return HuggingFaceReader(folder).read(); }

}  // namespace weft
