// launch/reports/prediction_report.h: `weft bench --model` as one screen of text or as JSON (docs/cuda.md).
#pragma once

#include <string>

#include "trainer/prediction/prediction.h"

namespace weft {

std::string prediction_text(const Prediction& prediction);
std::string prediction_json(const Prediction& prediction);

}  // namespace weft
