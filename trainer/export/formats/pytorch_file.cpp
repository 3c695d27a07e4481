// trainer/export/formats/pytorch_file.cpp: writes and reads a PyTorch state_dict, and checks it before it reads values.
#include "trainer/export/formats/pytorch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "tensor/error.h"
#include "trainer/checkpoint/finite.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/export/pytorch_weights.h"

namespace weft {
namespace {

constexpr size_t kNamesListed = 3;

using TensorsByName = std::map<std::string, PytorchTensor>;

TensorsByName tensors_by_name(const ModelConfig& config, const ParamStore& params) {
  require(params.tp_size() == 1, ErrorKind::internal, "a PyTorch file must be written and read by one rank");
  TensorsByName tensors;
  for (PytorchTensor& t : pytorch_layout(config, params)) tensors[t.name] = std::move(t);
  return tensors;
}

size_t numel(const std::vector<int64_t>& shape) {
  size_t n = 1;
  for (const int64_t dim : shape) n *= static_cast<size_t>(dim);
  return n;
}

// An option that adds or removes a group of tensors.
struct Cause {
  const char *prefix, *option;
};
constexpr Cause kCauses[] = {{"encoder.layers.", "model.encoder_layers"}, {"decoder.layers.", "model.decoder_layers"},
                             {"encoder.norm.", "model.final_norm"},       {"decoder.norm.", "model.final_norm"},
                             {"source_positions.", "model.positions"},    {"target_positions.", "model.positions"},
                             {"output.bias", "model.bias_output"}};

// Suggests an option if `other_side` lacks not only `name` but all tensors of the same group.
template <typename Names>
std::string advice(const std::string& name, const Names& other_side) {
  for (const Cause& cause : kCauses) {
    std::string group = cause.prefix;
    if (!name.starts_with(group)) continue;
    if (group.ends_with(".layers.")) group = name.substr(0, name.find('.', group.size()) + 1);
    const auto next = other_side.lower_bound(group);
    if (next == other_side.end() || !next->first.starts_with(group))
      return fmt::format("check whether {} matches the file", cause.option);
  }
  return "docs/pytorch.md lists names and shapes";
}

// Returns, for example, "transformer." if the module was saved as part of a larger module.
std::string surplus_prefix(const std::string& name, const TensorsByName& wanted) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (wanted.contains(name.substr(dot + 1))) return name.substr(0, dot + 1);
  return "";
}

std::string listed(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kNamesListed); ++i) shown.push_back(printable(names[i]));
  return fmt::format("tensor{} '{}'{}", names.size() == 1 ? "" : "s", fmt::join(shown, "', '"),
                     shown.size() < names.size() ? fmt::format(" and {} more", names.size() - shown.size()) : "");
}

class Reader {
 public:
  Reader(const std::string& path, const ModelConfig& config, const ParamStore& params)
      : wanted_(tensors_by_name(config, params)),
        file_(std::filesystem::weakly_canonical(path)),  // resolves links
        path_(path),
        num_values_(static_cast<size_t>(params.numel())) {}

  std::vector<float> read() {
    check_names();
    for (const auto& [name, entry] : file_.entries()) check_form(wanted_.at(name), entry);
    values_.resize(num_values_);  // checked above: the file contains that many
    for (const auto& [name, entry] : file_.entries()) take(wanted_.at(name));
    return std::move(values_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", path_, what));
  }

  // A tensor may be absent if it is a bias that the model lacks, or if a tied tensor with the same values is present.
  void check_names() const {
    std::vector<std::string> extra, missing;
    std::set<std::vector<const Param*>> brought{std::vector<const Param*>{}};  // no parts: a bias that the model lacks
    for (const auto& [name, entry] : file_.entries()) {
      const auto found = wanted_.find(name);
      if (found == wanted_.end()) {
        extra.push_back(name);
      } else {
        brought.insert(found->second.parts);
      }
    }
    for (const auto& [name, tensor] : wanted_)
      if (!brought.contains(tensor.parts)) missing.push_back(name);
    if (!extra.empty()) {
      const std::string prefix = surplus_prefix(extra[0], wanted_);
      refuse(fmt::format("{} {} not in the model: {}", listed(extra), extra.size() == 1 ? "is" : "are",
                         prefix.empty() ? advice(extra[0], wanted_)
                                        : fmt::format("remove the prefix '{}' before saving", printable(prefix))));
    }
    if (!missing.empty())
      refuse(fmt::format("{} {} missing: {}", listed(missing), missing.size() == 1 ? "is" : "are",
                         advice(missing[0], file_.entries())));
  }

  void check_form(const PytorchTensor& t, const SafetensorsEntry& found) const {
    if (found.dtype != "F32" && found.dtype != "F16" && found.dtype != "BF16")
      refuse(fmt::format("tensor '{}' has dtype {}, not F32, F16 or BF16: convert it with .float() before saving",
                         t.name, found.dtype));
    if (found.shape == t.shape) return;
    check_vocabulary(t, found);
    refuse(fmt::format("tensor '{}' has shape {}, but the model needs {}: check the [model] section", t.name,
                       str(found.shape), str(t.shape)));
  }

  void check_vocabulary(const PytorchTensor& t, const SafetensorsEntry& found) const {
    const bool is_source = t.name.starts_with("source_embedding."),
               is_target = t.name.starts_with("target_embedding.") || t.name.starts_with("output.");
    const bool other_rows = found.shape.size() == t.shape.size() &&
                            std::equal(found.shape.begin() + 1, found.shape.end(), t.shape.begin() + 1);
    if ((is_source || is_target) && other_rows)
      refuse(
          fmt::format("tensor '{}' has {} rows, but the {} tokenizer has {} entries: use the tokenizer with which the "
                      "weights were trained",
                      t.name, found.shape[0], is_source ? "source" : "target", t.shape[0]));
  }

  void take(const PytorchTensor& t) {
    std::vector<float> found(numel(t.shape));
    file_.read(t.name, found.data());
    if (const std::string bad = describe_not_finite(found.data(), t.shape); !bad.empty())
      refuse(fmt::format("tensor '{}' contains {}", t.name, bad));
    if (t.parts.empty() && std::any_of(found.begin(), found.end(), [](float v) { return v != 0; }))
      refuse(
          fmt::format("tensor '{}' is not zero, but the model has no such bias: set {} = true", t.name,
                      t.name.find("linear") == std::string::npos ? "model.bias_attention" : "model.bias_feed_forward"));
    const float* next = found.data();
    for (const Param* part : t.parts) {
      put(t.name, *part, next);
      next += part->numel();
    }
  }

  // Copies the values. Throws an Error unless all names of a tied table have the same bits.
  void put(const std::string& name, const Param& param, const float* found) {
    const size_t n = static_cast<size_t>(param.numel());
    float* place = values_.data() + param.offset;
    const auto [first, is_new] = taken_from_.emplace(&param, name);
    if (!is_new && std::memcmp(place, found, n * sizeof(float)) != 0)
      refuse(fmt::format("tensor '{}' differs from '{}', but model.tying ties them: use a different model.tying", name,
                         first->second));
    std::copy(found, found + n, place);
  }

  TensorsByName wanted_;
  SafetensorsFile file_;
  std::string path_;
  size_t num_values_;
  std::vector<float> values_;
  std::map<const Param*, std::string> taken_from_;
};

}  // namespace

void write_pytorch_file(const std::string& path, const ModelConfig& config, const ParamStore& params) {
  const TensorsByName tensors = tensors_by_name(config, params);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& [name, tensor] : tensors) shapes[name] = tensor.shape;

  SafetensorsWriter writer(path, shapes, {{"format", "pt"}});
  for (const auto& [name, tensor] : tensors) {
    for (const Param* part : tensor.parts) writer.write(part->value.ptr<float>(), part->numel());
    if (tensor.parts.empty())
      writer.write(std::vector<float>(numel(tensor.shape)).data(), static_cast<int64_t>(numel(tensor.shape)));
  }
  writer.finish();
}

std::vector<float> read_pytorch_file(const std::string& path, const ModelConfig& config, const ParamStore& params) {
  return Reader(path, config, params).read();
}

}  // namespace weft
