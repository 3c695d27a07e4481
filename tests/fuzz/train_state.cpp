// tests/fuzz/train_state.cpp: state.json of a checkpoint.
#include "trainer/train_state.h"

#include <nlohmann/json.hpp>

#include "data/strict_json.h"
#include "tests/fuzz/target.h"

namespace {

void read_input(std::string_view bytes) {
  weft::TrainState::from_json(weft::parse_strict_json(bytes, "state.json", weft::ErrorKind::checkpoint), "checkpoint");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
