// trainer/import/marian/marian_config.cpp: reads Marian's options.
#include "trainer/import/marian/marian_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tensor/error.h"
#include "trainer/import/imported_model.h"

namespace weft {
namespace {

constexpr int64_t kMarianBeam = 12;  // defaults of marian-decoder
constexpr double kMostMaxLength = 1000;
constexpr double kMarianMaxLength = 3;  // factor of --max-length-factor
constexpr double kMarianDropout = 0.1;  // a model does not contain its rates; this is the task transformer-base's

// Options that must have these values, if a model has them at all.
void check_fixed(const JsonFields& yml) {
  for (const char* key : {"transformer-no-projection", "transformer-pool", "transformer-no-bias",
                          "transformer-no-affine", "transformer-disable-position-embeddings", "right-left", "ulr"})
    if (yml.truth(key, false)) yml.refuse(fmt::format("{} = true is not supported", key));
  const auto require_text = [&](const char* key, const char* only) {
    if (const std::string value = yml.text(key, only); value != only)
      yml.refuse(fmt::format("{} = '{}' is not supported, only '{}'", key, printable(value), only));
  };
  require_text("type", "transformer");
  require_text("transformer-decoder-autoreg", "self-attention");
  require_text("transformer-attention-mask", "default");
  const int64_t depth = yml.whole("transformer-ffn-depth", 2), width = yml.whole("transformer-dim-ffn", 2048);
  for (const auto& [key, only] : {std::pair("transformer-ffn-depth", int64_t{2}),
                                  {"transformer-decoder-ffn-depth", depth},
                                  {"transformer-decoder-dim-ffn", width}})
    if (const int64_t value = yml.whole(key, only); value != only && value != 0)
      yml.refuse(fmt::format("{} = {} is not supported, only {}", key, value, only));
  if (yml.has("transformer-tied-layers") && !yml.wholes("transformer-tied-layers").empty())
    yml.refuse("transformer-tied-layers is not supported");
  if (!yml.has("type")) yml.refuse("type is missing");
}

// The letters are operations from left to right: d dropout, a residual sum, n layer norm. Dropout may be left out.
void take_norms(const JsonFields& yml, ModelConfig& m) {
  const auto without_dropout = [&](const char* key, const char* usual) {
    std::string steps = yml.text(key, usual);
    std::erase(steps, 'd');
    return steps;
  };
  const std::string before = without_dropout("transformer-preprocess", ""),
                    after = without_dropout("transformer-postprocess", "dan"),
                    top = without_dropout("transformer-postprocess-top", ""),
                    embedding = without_dropout("transformer-postprocess-emb", "d");
  const bool is_post = before.empty() && after == "an", is_pre = before == "n" && after == "a";
  if (!is_post && !is_pre)
    yml.refuse(
        fmt::format("transformer-preprocess = '{}' with transformer-postprocess = '{}' is not supported: only '' "
                    "with 'dan' and 'n' with 'da'",
                    printable(before), printable(after)));
  for (const auto& [key, steps] : {std::pair("top", top), {"emb", embedding}})
    if (!steps.empty() && steps != "n")
      yml.refuse(fmt::format("transformer-postprocess-{} = '{}' is not supported", key, printable(steps)));
  m.norm = is_pre ? NormPosition::pre : NormPosition::post;
  m.final_norm = !top.empty(), m.embedding_norm = !embedding.empty();
}

// True if the model comes from Marian 1.12.3 or later, as its entry says: "v1.12.42 b7be0e964 2025-05-24 22:34:42".
// Earlier versions approximate GELU by x / (1 + exp(-1.702 x)).
bool has_exact_gelu(const JsonFields& yml) {
  std::array<int, 3> version{};
  if (std::sscanf(yml.text("version", "").c_str(), "v%9d.%9d.%9d", &version[0], &version[1], &version[2]) != 3)
    yml.refuse("version is missing, but the formula of gelu depends on it");
  return version >= std::array{1, 12, 3};
}

FeedForwardActivation activation_of(const JsonFields& yml) {
  const std::string name = yml.text("transformer-ffn-activation", "swish");
  if (name == "swish") return FeedForwardActivation::silu;
  if (name == "relu") return FeedForwardActivation::relu;
  if (name == "gelu") return has_exact_gelu(yml) ? FeedForwardActivation::gelu : FeedForwardActivation::gelu_sigmoid;
  yml.refuse(fmt::format("transformer-ffn-activation = '{}' is not supported", printable(name)));
}

void take_tables(const JsonFields& yml, MarianConfig& config) {
  const std::vector<int64_t> rows = yml.wholes("dim-vocabs");
  if (rows.size() != 2) yml.refuse(fmt::format("dim-vocabs has {} entries, but only 2 are supported", rows.size()));
  ModelConfig& m = config.model;
  m.source_vocabulary = rows[0], m.target_vocabulary = rows[1];
  const bool all = yml.truth("tied-embeddings-all", false), both_inputs = yml.truth("tied-embeddings-src", false);
  const bool output = yml.truth("tied-embeddings", false);
  m.tying = all || (both_inputs && output) ? Tying::all : output ? Tying::output : Tying::none;
  config.tables = marian_tables(m.tying);
  if (both_inputs) config.tables.source = config.tables.target = "Wemb";
  if (config.tables.source == config.tables.target && rows[0] != rows[1])
    yml.refuse(fmt::format("dim-vocabs is [{}, {}], but the sides share a table", rows[0], rows[1]));
}

}  // namespace

MarianConfig read_marian_config(const JsonFields& yml) {
  check_fixed(yml);
  MarianConfig config;
  ModelConfig& m = config.model;
  m.width = yml.whole("dim-emb"), m.heads = yml.whole("transformer-heads");
  m.feed_forward = yml.whole("transformer-dim-ffn");
  m.encoder_layers = yml.whole("enc-depth"), m.decoder_layers = yml.whole("dec-depth");
  m.activation = activation_of(yml);
  take_norms(yml, m);
  take_tables(yml, config);
  m.norm_eps = kMarianEps;
  m.bias_output = !yml.truth("output-omit-bias", false);
  m.start_token = StartToken::zero;
  m.positions = Positions::tensor2tensor;
  m.dropout = kMarianDropout, m.dropout_attention = m.dropout_feed_forward = 0;
  if (m.width % 2 != 0) yml.refuse(fmt::format("dim-emb = {} must be even", m.width));
  check_sizes(m, yml.path());
  return config;
}

DecodeConfig read_marian_decoder(const JsonFields& yml) {
  DecodeConfig decode;
  decode.beam = yml.whole("beam-size", kMarianBeam);
  decode.min_length = 0;
  decode.length_penalty_kind = LengthPenalty::power;
  decode.length_penalty = yml.number("normalize", 0);
  decode.max_length_factor = yml.number("max-length-factor", kMarianMaxLength);
  if (!(decode.max_length_factor > 0 && decode.max_length_factor <= kMostMaxLength))
    yml.refuse(
        fmt::format("max-length-factor = {} must be above 0 and at most {}", decode.max_length_factor, kMostMaxLength));
  decode.max_length_extra = static_cast<int64_t>(decode.max_length_factor);  // Marian's source includes eos
  decode.allow_unknown = yml.truth("allow-unk", false);
  return decode;
}

}  // namespace weft
