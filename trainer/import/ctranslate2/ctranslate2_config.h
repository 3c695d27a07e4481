// trainer/import/ctranslate2/ctranslate2_config.h: concludes the options of a CTranslate2 model from its variables.
#pragma once

#include "model/config.h"
#include "trainer/import/formats/ctranslate2_file.h"
#include "trainer/import/json_fields.h"

namespace weft {

// `json` is the config.json beside `model_bin`. The vocabularies are the rows of the tables. Throws an Error of kind
// checkpoint that names the file if a variable is missing, or if Weft does not support an option.
ModelConfig read_ctranslate2_config(const Ctranslate2Variables& variables, const std::string& model_bin,
                                    const JsonFields& json);

}  // namespace weft
