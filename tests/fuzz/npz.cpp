// tests/fuzz/npz.cpp: an archive of numpy's arrays: the zip's directory, headers and values.
#include <vector>

#include "tests/fuzz/target.h"
#include "trainer/import/formats/marian_file.h"

namespace {

void read_input(std::string_view bytes) {
  const weft::TensorFiles files = weft::open_npz(weft::fuzz::file("model.npz", bytes));
  for (const std::string& name : files.names()) {
    int64_t values = 1;
    for (const int64_t size : files.shape(name)) values *= size;
    if (name == weft::kMarianConfiguration)
      files.bytes(name);
    else
      files.read(name, 0, values, std::vector<float>(static_cast<size_t>(values) + 1).data());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
