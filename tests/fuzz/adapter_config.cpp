// tests/fuzz/adapter_config.cpp: adapter_config.json of peft, which `weft import` takes.
#include "trainer/import/peft/adapter_config.h"

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, [](std::string_view bytes) {
    weft::read_adapter_config(weft::JsonFields(weft::fuzz::file("adapter_config.json", bytes)));
  });
}
