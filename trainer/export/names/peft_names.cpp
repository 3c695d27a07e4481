// trainer/export/names/peft_names.cpp: derives the names of adapters from the names of their matrices.
#include "trainer/export/names/peft_names.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "tensor/error.h"
#include "trainer/export/names/huggingface_names.h"

namespace weft {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 6> kModules = {
    {{"q", "q_proj"}, {"k", "k_proj"}, {"v", "v_proj"}, {"out", "out_proj"}, {"up", "fc1"}, {"down", "fc2"}}};

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

std::string without_end(const std::string& name, const std::string& end) {
  return name.ends_with(end) ? name.substr(0, name.size() - end.size()) : "";
}

}  // namespace

void require_peft_model(const ModelConfig& c) {
  const auto refuse = [](const char* option, const std::string& value) {
    fail(ErrorKind::usage,
         fmt::format("peft cannot adapt a model with {} = {}: transformers has no such model", option, value));
  };
  if (c.positions == Positions::interleaved || is_rotary(c.positions))
    refuse("model.positions", name_of_enum(c.positions));
  if (is_gated(c.activation)) refuse("model.activation", name_of_enum(c.activation));
  if (c.norm_kind != NormKind::layer) refuse("model.norm_kind", name_of_enum(c.norm_kind));
  if (c.num_kv_heads() != c.heads) refuse("model.kv_heads", std::to_string(c.kv_heads));
}

std::string peft_module(const std::string& target) {
  for (const auto& [ours, theirs] : kModules)
    if (target == ours) return theirs;
  return "";
}

std::string peft_target(const std::string& module) {
  for (const auto& [ours, theirs] : kModules)
    if (module == theirs) return ours;
  return "";
}

std::vector<ForeignTensor> peft_names(const ModelConfig& config) {
  std::vector<ForeignTensor> names;
  const int64_t rank = config.lora.rank;
  for (const ForeignTensor& matrix : huggingface_names(config)) {
    const std::string theirs = without_end(matrix.name, ".weight"), target = peft_target(last_part(theirs));
    if (target.empty() || !config.lora.targets_part(target)) continue;
    std::string ours = without_end(matrix.ours, ".weight");
    if (last_part(ours) == "qkv" || last_part(ours) == "kv") ours += "." + target;  // a part of a fused matrix
    names.push_back({"base_model.model." + theirs + ".lora_A.weight",
                     ForeignTensor::to_width,
                     {rank, matrix.columns()},
                     ours + ".lora_a"});
    names.push_back({"base_model.model." + theirs + ".lora_B.weight",
                     ForeignTensor::to_width,
                     {matrix.rows(), rank},
                     ours + ".lora_b"});
  }
  return names;
}

}  // namespace weft
