// trainer/export/names/peft_names.h: the names and shapes of Weft's adapters in a folder of Python's package peft.
//
// The names are those of peft 0.21.2 for the models of huggingface_names.h: "base_model.model." before the name of a
// matrix, and "lora_A.weight" [r, in] and "lora_B.weight" [out, r] after it.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "trainer/export/names/foreign_tensor.h"

namespace weft {

// Throws an Error of kind usage that names the option if transformers has no such model, or has its columns in another
// order than Weft.
void require_peft_model(const ModelConfig& config);

// REQUIRES: require_peft_model() accepts the model. The adapters of the matrices that config.lora.targets names.
std::vector<ForeignTensor> peft_names(const ModelConfig& config);

// Returns the name of transformers' modules for a part of lora.targets: "q_proj" for "q".
std::string peft_module(const std::string& target);
std::string peft_target(const std::string& module);  // the opposite; "" if Weft has no adapters of this module

}  // namespace weft
