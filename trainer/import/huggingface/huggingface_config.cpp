// trainer/import/huggingface/huggingface_config.cpp: maps the configuration of each class to Weft's options.
#include "trainer/import/huggingface/huggingface_config.h"

#include <algorithm>

#include "tensor/error.h"
#include "trainer/import/imported_model.h"
#include "trainer/import/json_fields.h"

namespace weft {
namespace {

struct Class {
  const char* type;
  NormPosition norm;
  bool final_norm, embedding_norm;
  Positions positions;
  bool starts_after_padding;  // the first position is the id of padding + 1, or row 2 of a learned table
  bool bias_output;
  FeedForwardActivation activation;  // this and the next two: defaults of the configuration class
  bool scale_embeddings;
  double dropout_attention;
  bool has_separate_tables;  // if share_encoder_decoder_embeddings is false
  bool has_languages;
};
constexpr auto kPost = NormPosition::post, kPre = NormPosition::pre;
constexpr auto kGelu = FeedForwardActivation::gelu, kRelu = FeedForwardActivation::relu;
constexpr Class kClasses[] = {
    {"marian", kPost, false, false, Positions::halves, false, true, kGelu, false, 0, true, false},
    {"pegasus", kPre, true, false, Positions::halves, false, true, kGelu, false, 0, false, false},
    {"mbart", kPre, true, true, Positions::learned, true, true, kGelu, false, 0, false, true},
    {"m2m_100", kPre, true, false, Positions::tensor2tensor, true, false, kRelu, true, 0.1, false, true},
};
constexpr int64_t kLongestMinLength = 100'000;
constexpr int64_t kUnusedRows = 2;  // of mBART's table of positions

const Class& class_of(const JsonFields& config) {
  if (!config.exists()) config.refuse("the file does not exist: --from needs a folder of transformers");
  const std::string type = config.text("model_type", "");
  std::string known;
  for (const Class& c : kClasses) {
    if (type == c.type) return c;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", c.type);
  }
  config.refuse(fmt::format("model_type is '{}', but only {} can be imported", printable(type), known));
}

FeedForwardActivation activation_of(const JsonFields& config, FeedForwardActivation usual) {
  const std::string name = config.text("activation_function", "");
  if (name.empty()) return usual;
  if (name == "swish" || name == "silu") return FeedForwardActivation::silu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return FeedForwardActivation::gelu_tanh;
  if (name == "quick_gelu") return FeedForwardActivation::gelu_sigmoid;
  if (name == "relu") return FeedForwardActivation::relu;
  if (name == "gelu") return FeedForwardActivation::gelu;
  config.refuse(fmt::format("activation_function '{}' is not supported", printable(name)));
}

// Returns a size that encoder and decoder must share.
int64_t size_of_both(const JsonFields& config, const char* encoder, const char* decoder) {
  const int64_t size = config.whole(encoder);
  if (config.whole(decoder) != size)
    config.refuse(fmt::format("{} = {} and {} = {} must be equal", encoder, size, decoder, config.whole(decoder)));
  return size;
}

Tying tying_of(const JsonFields& config, const Class& c) {
  const bool ties_output = config.truth("tie_word_embeddings", true);
  const bool shares = !c.has_separate_tables || config.truth("share_encoder_decoder_embeddings", true);
  if (shares && !ties_output)
    config.refuse(
        "tie_word_embeddings = false with one table for both sides is not supported: Weft ties all tables, "
        "the decoder's, or none");
  return shares ? Tying::all : ties_output ? Tying::output : Tying::none;
}

ModelConfig model_of(const JsonFields& config, const Class& c) {
  ModelConfig m;
  m.width = config.whole("d_model");
  m.heads = size_of_both(config, "encoder_attention_heads", "decoder_attention_heads");
  m.feed_forward = size_of_both(config, "encoder_ffn_dim", "decoder_ffn_dim");
  m.encoder_layers = config.whole("encoder_layers"), m.decoder_layers = config.whole("decoder_layers");
  m.norm = c.norm, m.final_norm = c.final_norm, m.embedding_norm = c.embedding_norm;
  m.activation = activation_of(config, c.activation);
  m.bias_output = c.bias_output;
  m.scale_embeddings = config.truth("scale_embedding", c.scale_embeddings);
  m.positions = c.positions;
  if (c.positions == Positions::learned) {
    m.max_positions = config.whole("max_position_embeddings");
  } else if (c.starts_after_padding) {
    m.position_offset = config.whole("pad_token_id") + 1;
  }
  m.tying = tying_of(config, c);
  m.source_vocabulary = config.whole("vocab_size");
  m.target_vocabulary =
      m.tying == Tying::all ? m.source_vocabulary : config.whole("decoder_vocab_size", m.source_vocabulary);
  m.dropout = config.number("dropout", 0.1);
  m.dropout_attention = config.number("attention_dropout", c.dropout_attention);
  m.dropout_feed_forward = config.number("activation_dropout", 0);
  return m;
}

// Reads the ids of special tokens from config.json or, if they are missing, from generation_config.json.
void read_ids(const JsonFields& config, const JsonFields& generation, HuggingFaceConfig& h) {
  const auto id = [&](const char* key, bool is_needed) {
    const JsonFields& fields = config.has(key) ? config : generation;
    if (!fields.has(key) && !is_needed) return int64_t{-1};
    if (!fields.has(key)) config.refuse(fmt::format("{} is missing", key));
    const int64_t value = fields.whole(key);
    if (value < 0 || value >= std::min(h.model.source_vocabulary, h.model.target_vocabulary))
      fields.refuse(fmt::format("{} = {} is not in the vocabulary", key, value));
    return value;
  };
  h.eos = id("eos_token_id", true), h.start = id("decoder_start_token_id", true);
  h.bos = id("bos_token_id", false), h.padding = id("pad_token_id", false);
}

// transformers reads the options of the search from generation_config.json alone if it exists. Older folders have them
// in config.json.
void read_decoder(const JsonFields& fields, HuggingFaceConfig& h) {
  DecodeConfig& decode = h.decode;
  decode.beam = fields.whole("num_beams", 1);
  decode.length_penalty_kind = LengthPenalty::power;
  decode.length_penalty = fields.number("length_penalty", 1);
  // transformers also counts the start token and a forced language.
  const int64_t min_length = fields.whole("min_length", 0);
  if (min_length < 0 || min_length > kLongestMinLength)
    fields.refuse(fmt::format("min_length = {} is not between 0 and {}", min_length, kLongestMinLength));
  decode.min_length = std::max<int64_t>(0, min_length - (h.has_languages ? 2 : 1));
  const bool is_first = fields.has("early_stopping") && fields["early_stopping"] == true;
  decode.beam_kind = is_first ? BeamKind::first : BeamKind::fixed;
  if (fields.has("early_stopping") && fields["early_stopping"] == "never") h.unused_options.push_back("early_stopping");
  for (const auto& [key, usual] : {std::pair("repetition_penalty", 1.0),
                                   {"encoder_repetition_penalty", 1.0},
                                   {"no_repeat_ngram_size", 0.0},
                                   {"encoder_no_repeat_ngram_size", 0.0},
                                   {"num_beam_groups", 1.0},
                                   {"diversity_penalty", 0.0},
                                   {"guidance_scale", 1.0},
                                   {"penalty_alpha", 0.0},
                                   {"min_new_tokens", 0.0}})
    if (fields.number(key, usual) != usual) h.unused_options.emplace_back(key);
  for (const char* key : {"do_sample", "exponential_decay_length_penalty", "sequence_bias", "suppress_tokens",
                          "begin_suppress_tokens", "forced_decoder_ids", "force_words_ids", "constraints"})
    if (fields.is_set(key)) h.unused_options.emplace_back(key);
  if (fields.has("forced_bos_token_id")) h.unused_options.push_back("forced_bos_token_id (give --target-tag)");
}

void read_bad_words(const JsonFields& fields, HuggingFaceConfig& h) {
  if (!fields.has("bad_words_ids") || !fields["bad_words_ids"].is_array()) return;
  for (const nlohmann::json& words : fields["bad_words_ids"]) {
    const bool is_one = words.is_array() && words.size() == 1 && words[0].is_number_integer();
    h.never_predicted.push_back(is_one ? words[0].get<int64_t>() : HuggingFaceConfig::kSeveralTokens);
  }
}

}  // namespace

HuggingFaceConfig read_huggingface_config(const std::string& folder) {
  const JsonFields config(folder + "/config.json"), generation(folder + "/generation_config.json");
  const Class& c = class_of(config);
  if (config.has("quantization_config")) config.refuse("quantized weights cannot be imported");
  HuggingFaceConfig h{.type = c.type, .model = model_of(config, c), .has_languages = c.has_languages};
  check_sizes(h.model, config.path());
  if (c.positions == Positions::learned) h.unused_positions = kUnusedRows;
  read_ids(config, generation, h);
  if (h.type == "mbart" && h.start != h.eos)
    config.refuse(
        fmt::format("decoder_start_token_id = {} is not eos: of mBART, only mBART-50 can be imported", h.start));
  const JsonFields& decoder = generation.exists() ? generation : config;
  read_decoder(decoder, h);
  read_bad_words(decoder, h);
  return h;
}

}  // namespace weft
