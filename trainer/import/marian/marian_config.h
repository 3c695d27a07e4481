// trainer/import/marian/marian_config.h: maps the configuration inside a Marian model to Weft's options.
//
// The options are those of src/models/transformer.h of marian-nmt/marian-dev, version 1.12. An option that changes the
// model's numbers and that Weft does not support is refused by name.
#pragma once

#include "trainer/config/run_config.h"
#include "trainer/export/names/marian_names.h"
#include "trainer/import/json_fields.h"

namespace weft {

struct MarianConfig {
  ModelConfig model;  // the vocabularies are the rows of the tables
  MarianTables tables;
};
MarianConfig read_marian_config(const JsonFields& yml);

// Reads decoder.yml, of which all entries are optional.
DecodeConfig read_marian_decoder(const JsonFields& yml);

}  // namespace weft
