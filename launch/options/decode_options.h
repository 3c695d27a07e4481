// launch/options/decode_options.h: search options of `weft translate` and `weft evaluate`; the defaults are
// the checkpoint's [decode] section.
//
// A command parses twice: first to find the checkpoint, then with the checkpoint's settings as defaults.
#pragma once

#include "launch/options/options.h"
#include "trainer/config/run_config.h"

namespace weft {

void add_decode_options(Options& options, DecodeConfig& decode);
void check_decode_options(const DecodeConfig& decode);  // after the second parse; errors name the options

}  // namespace weft
