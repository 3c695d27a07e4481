// tests/fuzz/ctranslate2.cpp: a model.bin of CTranslate2: variables, aliases and the options that they imply.
#include "tests/fuzz/target.h"
#include "trainer/export/names/ctranslate2_names.h"
#include "trainer/import/ctranslate2/ctranslate2_config.h"

namespace {

void read_input(std::string_view bytes) {
  const std::string file = weft::fuzz::file("model.bin", bytes);
  const weft::Ctranslate2Variables variables = weft::open_ctranslate2(file);
  weft::ctranslate2_names(weft::read_ctranslate2_config(variables, file, weft::JsonFields("config.json", {})));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
