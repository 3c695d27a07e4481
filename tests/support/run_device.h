// tests/support/run_device.h: adapts the configuration of a test's run to the device under test.
#pragma once

#include <algorithm>

#include "tests/support/device_group.h"
#include "trainer/config/run_config.h"

namespace weft::testing {

// Sets the device and lets ranks share a GPU. On the emulated device it also uses fewer layers and rows, and
// short translations.
inline void use_test_device(RunConfig& c) {
  c.device = test_device_choice();
  c.parallel.share_gpu = true;
  if (!on_emulated_device()) return;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.batch.rows = std::min<int64_t>(c.batch.rows, 64);
  c.decode.max_length_factor = 0, c.decode.max_length_extra = 8;
}

}  // namespace weft::testing
