// launch/options/decode_options.h: search options of `weft translate` and `weft evaluate`. Their defaults come from
// the checkpoint's [decode] section, which is known only after the command line has named the checkpoint.
#pragma once

#include "launch/options/options.h"
#include "trainer/config/run_config.h"

namespace weft {

void add_decode_options(Options& options, DecodeConfig& decode);
// Takes options that were not given from `saved`, the checkpoint's options, except nbest, which becomes 1. Checks all.
void complete_decode_options(const Options& options, const DecodeConfig& saved, DecodeConfig& decode);

}  // namespace weft
