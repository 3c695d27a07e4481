// tests/fuzz/safetensors.cpp: a file of weights: header, ranges and values.
#include "trainer/checkpoint/safetensors.h"

#include <vector>

#include "tests/fuzz/target.h"

namespace {

void read_input(std::string_view bytes) {
  const weft::SafetensorsFile weights(weft::fuzz::file("weights.safetensors", bytes));
  for (const auto& [name, entry] : weights.entries())
    weights.read(name, std::vector<float>(entry.end - entry.begin + 1).data());  // an element has a byte or more
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
