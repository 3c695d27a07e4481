// launch/options/decode_options.h: search options of `weft translate` and `weft evaluate`; the defaults are
// the checkpoint's [decode] section, which is known only after the command line has named the checkpoint.
#pragma once

#include "launch/options/options.h"
#include "trainer/config/run_config.h"

namespace weft {

void add_decode_options(Options& options, DecodeConfig& decode);
// Takes what was not given from `saved`, the checkpoint's options, but nbest is 1 then. Checks them all.
void complete_decode_options(const Options& options, const DecodeConfig& saved, DecodeConfig& decode);
void check_decode_options(const DecodeConfig& decode);  // errors name the options

}  // namespace weft
