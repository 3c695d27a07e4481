// trainer/export/huggingface_weights.h: our parameters under the names of transformers' Marian and Pegasus classes.
//
// Read in transformers 5.23.0, models/marian/modeling_marian.py and models/pegasus/modeling_pegasus.py, which have the
// same names but for Pegasus's final norms. Matrices are [out, in] as ours. All tensors are F32.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/export/exported_model.h"
#include "trainer/export/weights.h"

namespace weft {

// The logit of padding: exp of it is 0 in F32, and it is finite, so that nothing becomes NaN.
inline constexpr float kPaddingLogit = -1e9f;

struct HuggingFaceTensor {
  std::vector<int64_t> shape;
  MakeValues values;
};

// The id of padding on both sides: the first that neither vocabulary has or, of two sizes, the smaller side has not;
// on the other side it is inserted there, and later ids are one higher.
int64_t padding_id(const ExportedModel& model);

// The tensors by name. `model` outlives them.
std::map<std::string, HuggingFaceTensor> huggingface_tensors(const ExportedModel& model);

}  // namespace weft
