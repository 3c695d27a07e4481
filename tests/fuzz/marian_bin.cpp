// tests/fuzz/marian_bin.cpp: a .bin model of Marian: headers, names, shapes and values.
#include "tests/fuzz/target.h"
#include "tests/fuzz/tensor_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, [](std::string_view bytes) {
    weft::fuzz::read_all(weft::open_marian_bin(weft::fuzz::file("model.bin", bytes)));
  });
}
