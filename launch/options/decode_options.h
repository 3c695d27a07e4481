// launch/options/decode_options.h: how `weft translate` and `weft evaluate` search: as the checkpoint's own [decode]
// section says, or as options say.
//
// A command parses twice: first to find the checkpoint, then with its settings as the defaults.
#pragma once

#include "launch/options/options.h"
#include "trainer/run_config.h"

namespace weft {

void add_decode_options(Options& options, DecodeConfig& decode);
void check_decode_options(const DecodeConfig& decode);  // after the second parse; names the options as they are given

}  // namespace weft
