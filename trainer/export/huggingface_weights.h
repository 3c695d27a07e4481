// trainer/export/huggingface_weights.h: names our parameters as in transformers' Marian and Pegasus classes.
//
// The names come from transformers 5.23.0, models/marian/modeling_marian.py and models/pegasus/modeling_pegasus.py.
// Both use the same names except for Pegasus's final norms. Matrices are [out, in] like ours. All tensors are F32.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/export/exported_model.h"
#include "trainer/export/weights.h"

namespace weft {

// The logit of padding. Its exp is 0 in F32, and it is finite, so that nothing becomes NaN.
inline constexpr float kPaddingLogit = -1e9f;

struct HuggingFaceTensor {
  std::vector<int64_t> shape;
  MakeValues values;
};

// Returns the id of padding on both sides: the first id that neither vocabulary contains or, if their sizes differ,
// that the smaller one lacks. On the other side it is inserted there, and later ids increase by one.
int64_t padding_id(const ExportedModel& model);

// Returns the tensors by name. REQUIRES: `model` outlives them.
std::map<std::string, HuggingFaceTensor> huggingface_tensors(const ExportedModel& model);

}  // namespace weft
