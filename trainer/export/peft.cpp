// trainer/export/peft.cpp: writes adapters under the names of peft.
#include "trainer/export/peft.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "data/text/split.h"
#include "tensor/error.h"
#include "trainer/export/exported_model.h"
#include "trainer/export/names/peft_names.h"

namespace weft {
namespace {

std::string adapter_config(const LoraConfig& lora) {
  nlohmann::json modules = nlohmann::json::array();
  for (const std::string& target : split_at_commas(lora.targets)) modules.push_back(peft_module(target));
  const nlohmann::json config = {{"peft_type", "LORA"},
                                 {"task_type", "SEQ_2_SEQ_LM"},
                                 {"r", lora.rank},
                                 {"lora_alpha", lora.scale() * static_cast<double>(lora.rank)},
                                 {"lora_dropout", lora.dropout},
                                 {"target_modules", modules},
                                 {"bias", "none"},
                                 {"fan_in_fan_out", false},
                                 {"inference_mode", true},
                                 {"base_model_name_or_path", nullptr}};
  return config.dump(2) + "\n";
}

}  // namespace

void export_peft(const ModelConfig& config, const StoredModel& stored, const OutputFolder& output) {
  require_peft_model(config);
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, std::string> ours;
  for (const ForeignTensor& t : peft_names(config)) shapes[t.name] = t.shape, ours[t.name] = t.ours;
  SafetensorsWriter file(output.file("adapter_model.safetensors"), shapes, {{"format", "pt"}});
  for (const auto& [name, shape] : shapes) {
    const std::vector<float> values = stored.adapter(ours.at(name));
    file.write(values.data(), std::ssize(values));
  }
  file.finish();
  output.write("adapter_config.json", adapter_config(config.lora));
}

}  // namespace weft
