// launch/options/decode_options.h: adds the search options of `weft translate` and `weft evaluate`. Their defaults come
// from the checkpoint's [decode] section, which can be read only after the command line has been parsed.
#pragma once

#include "launch/options/options.h"
#include "trainer/config/run_config.h"

namespace weft {

void add_decode_options(Options& options, DecodeConfig& decode);
// Sets each option that was not given to its value in `saved` (the checkpoint), but nbest to 1. Checks the result.
void complete_decode_options(const Options& options, const DecodeConfig& saved, DecodeConfig& decode);

}  // namespace weft
