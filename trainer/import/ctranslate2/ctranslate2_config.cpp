// trainer/import/ctranslate2/ctranslate2_config.cpp: reads sizes from shapes, and options from what is present.
#include "trainer/import/ctranslate2/ctranslate2_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tensor/error.h"
#include "tensor/math.h"
#include "trainer/export/names/ctranslate2_names.h"
#include "trainer/import/imported_model.h"

namespace weft {
namespace {

constexpr const char* kFirst = "encoder/layer_0";
constexpr int64_t kMostOffset = 1024;  // of the first position that is looked for
constexpr float kSinusoidError = 1e-5f;

class ConfigReader {
 public:
  ConfigReader(const Ctranslate2Variables& variables, const std::string& file) : v_(variables), file_(file) {}

  ModelConfig read(const JsonFields& json) {
    read_sizes();
    read_layers();
    c_.positions = Positions::rotary;
    if (is_set(std::string(kFirst) + "/self_attention/rotary_dim")) {
      if (!flag(std::string(kFirst) + "/self_attention/rotary_interleave")) c_.positions = Positions::rotary_halves;
    } else {
      read_positions();
    }
    c_.scale_embeddings = flag("encoder/scale_embeddings");
    c_.tying = has_alias(kCtranslate2Source) ? Tying::all : has_alias(kCtranslate2Output) ? Tying::output : Tying::none;
    c_.norm_eps = json.number("layer_norm_epsilon", 0);
    c_.start_token = start_token(json);
    check_numbers();
    check_sizes(c_, file_);
    return c_;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", file_, why));
  }
  bool has(const std::string& name) const { return v_.files.has(name); }
  bool is_set(const std::string& number) const { return v_.numbers.contains(number); }
  bool flag(const std::string& name) const { return is_set(name) && v_.numbers.at(name) != 0; }
  double number(const std::string& name) const {
    if (!is_set(name)) refuse(fmt::format("variable '{}' is missing", name));
    return v_.numbers.at(name);
  }
  bool has_alias(const char* name) const {
    const auto found = v_.aliases.find(name);
    return found != v_.aliases.end() && found->second == kCtranslate2Target;
  }
  const std::vector<int64_t>& matrix(const std::string& name) const {
    if (!has(name)) refuse(fmt::format("variable '{}' is missing", name));
    if (v_.files.shape(name).size() != 2) refuse(fmt::format("variable '{}' is not a matrix", name));
    return v_.files.shape(name);
  }
  int64_t layers(const std::string& side) const {
    int64_t count = 0;
    while (has(fmt::format("{}/layer_{}/ffn/linear_0/weight", side, count))) ++count;
    return count;
  }

  // Every number must be one that has been read, equal on both sides and in all layers, or without effect.
  void check_numbers() const {
    for (const std::string& name : v_.files.names())
      if (name.ends_with("/weight_scale")) refuse("quantized weights cannot be imported");
    for (const auto& [name, value] : v_.numbers) {
      const std::string last = name.substr(name.rfind('/') + 1);
      const bool is_layers = name.find("/layer_") != std::string::npos;
      const std::string like = (is_layers ? std::string(kFirst) + "/self_attention/" : "encoder/") + last;
      double wanted = 0;
      if (last == "start_from_zero_embedding" || last.starts_with("alignment_")) continue;
      if (last == "rotary_base") wanted = 10000;
      for (const char* read :
           {"num_heads", "pre_norm", "activation", "scale_embeddings", "num_heads_kv", "rotary_interleave"})
        if (last == read) wanted = number(like);
      if (value != wanted) refuse(fmt::format("{} = {} is not supported, only {}", printable(name), value, wanted));
    }
  }

  void read_sizes() {
    const std::vector<int64_t>& target = matrix(kCtranslate2Target);
    c_.target_vocabulary = target[0], c_.width = target[1];
    c_.source_vocabulary = has_alias(kCtranslate2Source) ? target[0] : matrix(kCtranslate2Source)[0];
    c_.feed_forward = matrix(std::string(kFirst) + "/ffn/linear_0/weight")[0];
    c_.encoder_layers = layers("encoder"), c_.decoder_layers = layers("decoder");
    c_.heads = static_cast<int64_t>(number("encoder/num_heads"));
    const std::string keys = std::string(kFirst) + "/self_attention/num_heads_kv";
    c_.kv_heads = is_set(keys) ? static_cast<int64_t>(number(keys)) : 0;
  }

  void read_layers() {
    const std::string first = kFirst;
    c_.norm = flag("encoder/pre_norm") ? NormPosition::pre : NormPosition::post;
    c_.norm_kind = has(first + "/ffn/layer_norm/beta") ? NormKind::layer : NormKind::rms;
    c_.final_norm = has("encoder/layer_norm/gamma");
    c_.embedding_norm = has("encoder/layernorm_embedding/gamma");
    c_.bias_attention = has(first + "/self_attention/linear_0/bias");
    c_.bias_feed_forward = has(first + "/ffn/linear_0/bias");
    c_.bias_output = has("decoder/projection/bias");
    const double code = number("encoder/activation");
    const bool gated = has(first + "/ffn/linear_0_noact/weight");
    for (const auto& [name, value] : enum_names(FeedForwardActivation{}))
      if (code == ctranslate2_activation(function_of(value)) && gated == is_gated(value)) {
        c_.activation = value;
        return;
      }
    refuse(fmt::format("activation {} {} gates is not supported", code, gated ? "with" : "without"));
  }

  // A table is one of sinusoids if its first rows are.
  void read_positions() {
    const std::string table = "encoder/position_encodings/encodings";
    const std::vector<int64_t>& shape = matrix(table);
    if (shape[1] != c_.width || shape[0] == 0) refuse(fmt::format("variable '{}' has another width", table));
    const int64_t rows = std::min<int64_t>(shape[0], 8);
    std::vector<float> values(static_cast<size_t>(rows * c_.width));
    v_.files.read(table, 0, std::ssize(values), values.data());
    const auto is_layout = [&](PositionLayout layout, int64_t offset) {
      for (int64_t i = 0; i < std::ssize(values); ++i)
        if (!(std::abs(values[static_cast<size_t>(i)] -
                       static_cast<float>(sinusoid(layout, i / c_.width + offset, i % c_.width, c_.width))) <
              kSinusoidError))
          return false;
      return true;
    };
    for (const Positions p : {Positions::interleaved, Positions::halves, Positions::tensor2tensor})
      for (int64_t offset = 0; offset <= kMostOffset; ++offset)
        if (is_layout(sinusoid_layout(p), offset)) {
          c_.positions = p, c_.position_offset = offset;
          return;
        }
    c_.positions = Positions::learned, c_.max_positions = shape[0];
  }

  StartToken start_token(const JsonFields& json) const {
    if (flag("decoder/start_from_zero_embedding")) return StartToken::zero;
    const std::string start = json.text("decoder_start_token", "<s>");
    if (start == json.text("eos_token", "</s>")) return StartToken::eos;
    if (start == json.text("bos_token", "<s>")) return StartToken::bos;
    json.refuse(fmt::format("decoder_start_token '{}' is neither bos_token nor eos_token", printable(start)));
  }

  const Ctranslate2Variables& v_;
  const std::string& file_;
  ModelConfig c_;
};

}  // namespace

ModelConfig read_ctranslate2_config(const Ctranslate2Variables& variables, const std::string& model_bin,
                                    const JsonFields& json) {
  return ConfigReader(variables, model_bin).read(json);
}

}  // namespace weft
