// trainer/import/peft/peft.cpp: reads adapters for transformers' models.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "tensor/error.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/export/names/peft_names.h"
#include "trainer/import/foreign_model.h"
#include "trainer/import/imported_model.h"
#include "trainer/import/json_fields.h"
#include "trainer/import/peft/adapter_config.h"

namespace weft {
namespace {

TensorFiles open_adapters(const std::string& folder) {
  TensorFiles files;
  if (std::filesystem::exists(folder + "/adapter_model.safetensors")) {
    add_safetensors(folder + "/adapter_model.safetensors", files);
  } else if (std::filesystem::exists(folder + "/adapter_model.bin")) {
    add_pytorch_bin(folder + "/adapter_model.bin", files);
  } else {
    fail(ErrorKind::checkpoint,
         fmt::format("{} contains neither adapter_model.safetensors nor adapter_model.bin", folder));
  }
  return files;
}

}  // namespace

ImportedAdapters import_peft(const std::string& folder, ModelConfig base) {
  require_peft_model(base);
  base.lora = read_adapter_config(JsonFields(folder + "/adapter_config.json"));
  const auto model = std::make_shared<ForeignModel>(ForeignModel{.from = folder,
                                                                 .config = "adapter_config.json, for this base,",
                                                                 .files = open_adapters(folder),
                                                                 .tensors = peft_names(base),
                                                                 .width = base.width});
  model->check([](const std::string&) { return false; });
  return {.lora = base.lora, .read = [model](const std::string& name, float* values) { model->read(name, values); }};
}

}  // namespace weft
