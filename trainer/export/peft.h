// trainer/export/peft.h: exports the adapters of a run as a folder of Python's package peft.
//
// The folder contains adapter_config.json and adapter_model.safetensors. It is for the model that the adapters were
// trained on, as transformers loads it.
#pragma once

#include "model/config.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/export/output_folder.h"

namespace weft {

// Throws an Error of kind usage if transformers does not support the model of the adapters, or has its columns in
// another order. REQUIRES: config.lora.on(), and `stored` contains adapters.
void export_peft(const ModelConfig& config, const StoredModel& stored, const OutputFolder& output);

}  // namespace weft
