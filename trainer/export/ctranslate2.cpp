// trainer/export/ctranslate2.cpp: writes Weft's parameters, options and vocabularies for CTranslate2.
#include "trainer/export/ctranslate2.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "data/batch.h"
#include "tensor/error.h"
#include "trainer/export/formats/ctranslate2_file.h"
#include "trainer/export/names/ctranslate2_names.h"
#include "trainer/export/weights.h"

namespace weft {
namespace {

class Ctranslate2Layout {
 public:
  explicit Ctranslate2Layout(const ExportedModel& model)
      : config_(model.config), weights_(model.config, model.params) {}

  Ctranslate2File build() {
    for (const char* side : {"encoder", "decoder"}) add_options(side);
    file_.small_number("encoder/embeddings_merge", 0);
    file_.flag("encoder/multi_query_attention", false);
    file_.short_number("decoder/alignment_layer", -1);
    file_.short_number("decoder/alignment_heads", 1);
    for (const char* flag : {"alibi", "alibi_use_positive_positions", "scale_alibi"})
      file_.flag(fmt::format("decoder/{}", flag), false);
    file_.flag("decoder/start_from_zero_embedding", config_.start_token == StartToken::zero);
    add_tensors();
    if (config_.tying == Tying::all) file_.alias(kCtranslate2Source, kCtranslate2Target);
    if (config_.tying != Tying::none) file_.alias(kCtranslate2Output, kCtranslate2Target);
    return std::move(file_);
  }

 private:
  // A tensor of the file can consist of several parts of ours.
  void add_tensors() {
    std::map<std::string, std::vector<ForeignTensor>> parts;
    for (const ForeignTensor& t : ctranslate2_names(config_)) parts[t.name].push_back(t);
    for (const auto& [name, tensors] : parts)
      file_.array(name, tensors[0].shape, [this, tensors = tensors] {
        Values values;
        for (const ForeignTensor& t : tensors) {
          const Values part = weights_.part(t.ours, t.first * t.columns(), t.rows() * t.columns());
          values.insert(values.end(), part.begin(), part.end());
        }
        return values;
      });
  }

  void add_options(const std::string& side) {
    const bool decoder = side == "decoder";
    file_.short_number(side + "/num_heads", static_cast<int16_t>(config_.heads));
    file_.flag(side + "/pre_norm", config_.norm == NormPosition::pre);
    file_.small_number(side + "/activation", ctranslate2_activation(function_of(config_.activation)));
    file_.flag(side + "/scale_embeddings", config_.scale_embeddings);
    if (!is_rotary(config_.positions) && config_.positions != Positions::learned)
      file_.array(side + "/position_encodings/encodings", {kExportedPositions, config_.width},
                  [this] { return weights_.positions(kExportedPositions); });
    for (int64_t i = 0; i < (decoder ? config_.decoder_layers : config_.encoder_layers); ++i) {
      add_attention_options(fmt::format("{}/layer_{}/self_attention", side, i), is_rotary(config_.positions));
      if (decoder) add_attention_options(fmt::format("{}/layer_{}/attention", side, i), false);
    }
  }

  void add_attention_options(const std::string& name, bool rotates) {
    if (config_.num_kv_heads() != config_.heads)
      file_.number(name + "/num_heads_kv", static_cast<int32_t>(config_.num_kv_heads()));
    if (!rotates) return;
    file_.number(name + "/rotary_dim", 0);  // 0: all columns of a head
    file_.flag(name + "/rotary_interleave", config_.positions == Positions::rotary);
    file_.real(name + "/rotary_base", 10000);
  }

  const ModelConfig& config_;
  Weights weights_;
  Ctranslate2File file_;
};

void require_one_name(const ExportedModel& model, int32_t id, const char* what) {
  const std::string source = model.source.piece(id), target = model.target.piece(id);
  if (source != target)
    fail(ErrorKind::usage, fmt::format("CTranslate2 needs the same piece for {} on both sides, but the source "
                                       "tokenizer uses {} and the target tokenizer {}",
                                       what, source, target));
}

std::string config_json(const ExportedModel& model) {
  const ModelConfig& c = model.config;
  const int32_t start = c.start_token == StartToken::eos ? SpecialIds::eos : SpecialIds::bos;
  nlohmann::json config = {{"add_source_bos", false},
                           {"add_source_eos", true},
                           {"bos_token", model.target.piece(SpecialIds::bos)},
                           {"decoder_start_token", model.target.piece(start)},
                           {"eos_token", model.target.piece(SpecialIds::eos)},
                           {"layer_norm_epsilon", nullptr},  // null means 1e-5, or 1e-6 for RMSNorm, as in Weft
                           {"multi_query_attention", c.num_kv_heads() != c.heads},
                           {"unk_token", model.target.piece(SpecialIds::unk)}};
  if (c.norm_eps > 0) config["layer_norm_epsilon"] = c.norm_eps;
  return config.dump(2) + "\n";
}

std::string vocabulary_json(const Tokenizer& tokenizer) { return nlohmann::json(pieces_of(tokenizer)).dump(2) + "\n"; }

}  // namespace

void export_ctranslate2(const ExportedModel& model, const OutputFolder& output) {
  require_one_name(model, SpecialIds::unk, "unknown tokens");
  require_one_name(model, SpecialIds::bos, "the start of a sentence");
  require_one_name(model, SpecialIds::eos, "the end of a sentence");
  Ctranslate2Layout layout(model);
  layout.build().write(output.file("model.bin"));
  output.write("config.json", config_json(model));
  copy_tokenizers(model, output);
  if (model.is_joint()) {
    output.write("shared_vocabulary.json", vocabulary_json(model.source));
    return;
  }
  output.write("source_vocabulary.json", vocabulary_json(model.source));
  output.write("target_vocabulary.json", vocabulary_json(model.target));
}

}  // namespace weft
