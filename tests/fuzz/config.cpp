// tests/fuzz/config.cpp: a .cfg file. A configuration that was read is written, and reads back.
#include "tests/fuzz/target.h"
#include "trainer/config/config_text.h"

namespace {

void read_input(std::string_view bytes) {
  weft::RunConfig config, again;
  weft::apply_cfg(std::string(bytes), "my.cfg", config);
  weft::apply_cfg(weft::to_cfg(config), "written.cfg", again);
  if (weft::to_cfg(again) != weft::to_cfg(config)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
