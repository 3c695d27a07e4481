// tests/trainer/import/imported_values.h: parameters of imported models.
#pragma once

#include <string>

#include "model/transformer.h"
#include "trainer/export/weights.h"
#include "trainer/import/imported_model.h"

namespace weft::testing {

inline Values values_of(const ImportedModel& imported, const std::string& name) {
  ParamStore params(0, 1);
  const Transformer declared(imported.config.model, params, /*num_positions=*/1);
  params.lay_out();
  Values values(static_cast<size_t>(params.find(name)->numel()));
  imported.read(name, values.data());
  return values;
}

}  // namespace weft::testing
