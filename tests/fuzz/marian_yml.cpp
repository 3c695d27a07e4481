// tests/fuzz/marian_yml.cpp: the configuration in a model of Marian, and its decoder.yml, which is read in the same
// way.
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"
#include "trainer/import/marian/marian_config.h"
#include "trainer/import/marian/yaml.h"

namespace {

void read_input(std::string_view bytes) {
  const weft::JsonFields yml("model.yml", weft::parse_yaml(std::string(bytes), "model.yml"));
  weft::read_marian_decoder(yml);
  const weft::MarianConfig config = weft::read_marian_config(yml);
  weft::marian_names(config.model, config.tables);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
