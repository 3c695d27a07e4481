// trainer/export/huggingface_weights.h: returns the values of transformers' Marian and Pegasus classes.
//
// trainer/export/names/huggingface_names.h lists names and shapes. Tables get a row for padding, and tables of
// sinusoids are added. Tensors are F32.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/export/exported_model.h"
#include "trainer/export/weights.h"

namespace weft {

// The logit of padding. Its exp is 0 in F32, but the logit is finite, so no result becomes NaN.
inline constexpr float kPaddingLogit = -1e9f;

struct HuggingFaceTensor {
  std::vector<int64_t> shape;
  MakeValues values;
};

// Returns the id of padding, which is the same on both sides: the size of the smaller vocabulary. In the larger
// vocabulary, padding is inserted at this id, and later ids increase by one.
int64_t padding_id(const ExportedModel& model);

// Returns the tensors by name. REQUIRES: `model` outlives the result.
std::map<std::string, HuggingFaceTensor> huggingface_tensors(const ExportedModel& model);

}  // namespace weft
