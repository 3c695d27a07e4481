// tests/fuzz/npz.cpp: an archive of numpy's arrays: the zip's directory, headers and values.
#include "tests/fuzz/target.h"
#include "tests/fuzz/tensor_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, [](std::string_view bytes) {
    weft::fuzz::read_all(weft::open_npz(weft::fuzz::file("model.npz", bytes)));
  });
}
