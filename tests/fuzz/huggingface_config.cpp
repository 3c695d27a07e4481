// tests/fuzz/huggingface_config.cpp: config.json of a model that `weft import` takes.
#include "trainer/import/huggingface/huggingface_config.h"

#include "tests/fuzz/target.h"
#include "trainer/export/names/huggingface_names.h"

namespace {

void read_input(std::string_view bytes) {
  weft::fuzz::file("config.json", bytes);
  weft::huggingface_names(weft::read_huggingface_config(weft::fuzz::folder().path()).model);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
