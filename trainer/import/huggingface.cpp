// trainer/import/huggingface.cpp: copies the tensors of transformers' models to the places of Weft's parameters.
#include <algorithm>
#include <cmath>
#include <set>

#include "model/transformer.h"
#include "tensor/error.h"
#include "trainer/checkpoint/finite.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/export/huggingface_names.h"
#include "trainer/import/huggingface_config.h"
#include "trainer/import/huggingface_vocabulary.h"
#include "trainer/import/imported_model.h"
#include "trainer/import/tensor_files.h"

namespace weft {
namespace {

using Form = HuggingFaceName::Form;

constexpr float kNeverPredicted = -1e8f;  // logits below this have probability 0 (kPaddingLogit)
constexpr int64_t kChunk = 1 << 20;       // values that are read at a time

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

class Reader {
 public:
  explicit Reader(const std::string& folder)
      : folder_(folder), config_(read_huggingface_config(folder)), files_(open_safetensors(folder)) {}

  ImportedModel read() {
    names_ = huggingface_names(config_.model);  // with the foreign sizes of tables
    if (!config_.model.bias_output) drop_output_bias();
    check_names();
    config_.has_padding_row = has_padding_row();
    if (config_.model.bias_output && !has_output_bias()) drop_output_bias();
    vocabularies_ = read_huggingface_vocabularies(folder_, config_);
    return {.config = our_config(), .tokenizers = tokenizers(), .read = {}};
  }

  // Reads a parameter of the model that read() has described.
  void take(const std::string& parameter, float* values) const {
    for (const HuggingFaceName& name : names_)
      if (name.ours == parameter) take(name, values);
  }

 private:
  [[noreturn]] void refuse(const HuggingFaceName& name, const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}' {}", files_->file_of(name.name), name.name, why));
  }

  void check_names() const {
    std::set<std::string> wanted;
    for (const HuggingFaceName& name : names_) {
      wanted.insert(name.name);
      if (!files_->has(name.name)) fail(ErrorKind::checkpoint, fmt::format("{} lacks tensor '{}'", folder_, name.name));
      std::vector<int64_t> shape = name.shape;
      if (name.form == Form::positions) shape[0] += config_.unused_positions;
      if (files_->shape(name.name) != shape)
        refuse(name,
               fmt::format("has shape {}, but config.json describes {}", str(files_->shape(name.name)), str(shape)));
    }
    for (const std::string& name : files_->names())
      if (!wanted.contains(name) && !is_redundant(name, config_.model))
        fail(ErrorKind::checkpoint,
             fmt::format("{}: tensor '{}' has no counterpart in Weft's model", files_->file_of(name), printable(name)));
  }

  // Weft's exports add padding with a bias that makes its probability 0. Such a bias must not remain, because label
  // smoothing would multiply it.
  bool has_padding_row() const {
    if (config_.padding < 0 || !config_.model.bias_output) return true;
    float bias = 0;
    files_->read("final_logits_bias", config_.padding, 1, &bias);
    return bias > kNeverPredicted;
  }

  // A bias of zeros, which transformers does not train, is no part of the model. Weft's own exports have one.
  bool has_output_bias() const {
    std::vector<float> bias(static_cast<size_t>(files_->shape("final_logits_bias").back()));
    files_->read("final_logits_bias", 0, std::ssize(bias), bias.data());
    if (!config_.has_padding_row) bias.at(static_cast<size_t>(config_.padding)) = 0;
    return std::ranges::any_of(bias, [](float v) { return v != 0; });
  }
  void drop_output_bias() {
    config_.model.bias_output = false;
    std::erase_if(names_, [](const HuggingFaceName& name) { return name.form == Form::output_bias; });
  }

  // A start token whose embedding is 0, such as Marian's, remains so during training.
  StartToken start_token() const {
    if (config_.start == config_.eos) return StartToken::eos;
    std::vector<float> row(static_cast<size_t>(config_.model.width));
    const char* table = config_.model.tying == Tying::all ? "model.shared.weight" : "model.decoder.embed_tokens.weight";
    files_->read(table, config_.start * config_.model.width, config_.model.width, row.data());
    return std::ranges::all_of(row, [](float v) { return v == 0; }) ? StartToken::zero : StartToken::bos;
  }

  RunConfig our_config() const {
    RunConfig config;
    config.model = config_.model, config.decode = config_.decode;
    config.model.start_token = start_token();
    config.model.source_vocabulary = std::ssize(vocabularies_.source.rows);
    config.model.target_vocabulary = std::ssize(vocabularies_.target.rows);
    config.parallel = {.dp = 1, .tp = 1};
    config.model.resolve(/*tp=*/1);
    return config;
  }

  std::map<std::string, std::string> tokenizers() const {
    const std::string &source = vocabularies_.source.tokenizer, &target = vocabularies_.target.tokenizer;
    if (source == target) return {{"tokenizer.model", source}};
    return {{"source.model", source}, {"target.model", target}};
  }

  void take(const HuggingFaceName& name, float* ours) const {
    const int64_t width = config_.model.width;
    switch (name.form) {
      case Form::source_table:
        return take_rows(name, vocabularies_.source.rows, width, ours);
      case Form::target_table:
        return take_rows(name, vocabularies_.target.rows, width, ours);
      case Form::output_bias:
        return take_rows(name, vocabularies_.target.rows, 1, ours);
      case Form::positions:
        return copy(name, config_.unused_positions * width, name.shape[0] * width, ours);
      default:
        const int64_t columns = name.shape.size() == 1 ? 1 : name.shape[1];
        copy(name, 0, name.shape[0] * columns, ours + name.first * columns);
    }
  }

  // Copies rows in our order. Runs of neighboring rows are read together.
  void take_rows(const HuggingFaceName& name, const std::vector<int64_t>& rows, int64_t width, float* ours) const {
    for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
      for (end = begin + 1; end < rows.size() && rows[end] == rows[end - 1] + 1;) ++end;
      copy(name, rows[begin] * width, static_cast<int64_t>(end - begin) * width,
           ours + static_cast<int64_t>(begin) * width);
    }
  }

  void copy(const HuggingFaceName& name, int64_t first, int64_t count, float* to) const {
    for (int64_t at = 0; at < count; at += kChunk) {
      const int64_t part = std::min(kChunk, count - at);
      files_->read(name.name, first + at, part, to + at);
      if (const std::string bad = describe_not_finite(to + at, {part}); !bad.empty())
        refuse(name, fmt::format("contains {} from value {} on", bad, first + at));
    }
  }

  std::string folder_;
  HuggingFaceConfig config_;
  std::unique_ptr<TensorFiles> files_;
  std::vector<HuggingFaceName> names_;
  ImportedVocabularies vocabularies_;
};

}  // namespace

ImportedModel import_huggingface(const std::string& folder) {
  const auto reader = std::make_shared<Reader>(folder);
  ImportedModel imported = reader->read();
  imported.read = [reader](const std::string& name, float* values) { reader->take(name, values); };
  return imported;
}

}  // namespace weft
