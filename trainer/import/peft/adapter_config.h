// trainer/import/peft/adapter_config.h: reads adapter_config.json of peft.
#pragma once

#include "model/lora_config.h"
#include "trainer/import/json_fields.h"

namespace weft {

// Throws an Error of kind checkpoint that names the file if Weft cannot compute such adapters.
LoraConfig read_adapter_config(const JsonFields& json);

}  // namespace weft
