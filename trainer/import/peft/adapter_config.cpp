// trainer/import/peft/adapter_config.cpp: maps the options of peft to Weft's.
#include "trainer/import/peft/adapter_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tensor/error.h"
#include "trainer/export/names/peft_names.h"

namespace weft {
namespace {

// Values of adapter_config.json that change the numbers and that Weft does not support.
void check_fixed(const JsonFields& json) {
  if (const std::string type = json.text("peft_type", ""); type != "LORA")
    json.refuse(fmt::format("peft_type is '{}', but only LORA can be imported", printable(type)));
  for (const char* flag : {"use_rslora", "use_dora", "fan_in_fan_out"})
    if (json.truth(flag, false)) json.refuse(fmt::format("{} = true is not supported", flag));
  if (const std::string bias = json.text("bias", "none"); bias != "none")
    json.refuse(fmt::format("bias = '{}' is not supported, only none", printable(bias)));
  // Other methods, such as pissa, olora and loftq, change the matrices of the base when peft loads the adapters.
  constexpr const char* kStart = "init_lora_weights";
  if (json.has(kStart) && !json[kStart].is_boolean() && json[kStart] != "gaussian" && json[kStart] != "orthogonal")
    json.refuse(
        fmt::format("init_lora_weights = {} is not supported: only true, false, gaussian and orthogonal leave "
                    "the base as it is",
                    printable(json[kStart].dump())));
  for (const char* key : {"rank_pattern", "alpha_pattern", "modules_to_save", "layers_to_transform",
                          "layer_replication", "lora_bias", "target_parameters"})
    if (json.is_set(key)) json.refuse(fmt::format("{} is not supported", key));
}

}  // namespace

LoraConfig read_adapter_config(const JsonFields& json) {
  check_fixed(json);
  if (json.whole("r") < 1) json.refuse("r must be at least 1");
  LoraConfig lora{.rank = json.whole("r"), .dropout = json.number("lora_dropout", 0), .targets = ""};
  lora.alpha = json.number("lora_alpha", static_cast<double>(lora.rank));
  if (!(lora.alpha > 0)) json.refuse(fmt::format("lora_alpha = {} must be positive", lora.alpha));
  std::set<std::string> targets;
  for (const std::string& module : json.texts("target_modules")) {
    const std::string target = peft_target(module);
    if (target.empty())
      json.refuse(
          fmt::format("target_modules contains '{}', but only q_proj, k_proj, v_proj, out_proj, fc1 and fc2 are "
                      "supported",
                      printable(module)));
    targets.insert(target);
  }
  lora.targets = fmt::format("{}", fmt::join(targets, ","));
  try {
    lora.check();
  } catch (const Error& error) {
    json.refuse(error.what());
  }
  return lora;
}

}  // namespace weft
