// tests/fuzz/pytorch_bin.cpp: a state_dict of PyTorch. An input that is no zip archive is read as an old file, and then
// as the pickle of an archive, whose checksums would hide it from a fuzzer.
#include "tests/fuzz/target.h"
#include "tests/fuzz/tensor_files.h"
#include "trainer/import/formats/pickle.h"

namespace {

void read_file(std::string_view bytes) {
  weft::TensorFiles files;
  weft::add_pytorch_bin(weft::fuzz::file("pytorch_model.bin", bytes), files);
  weft::fuzz::read_all(files);
}

void read_pickle(std::string_view bytes) { weft::Pickle(bytes, "data.pkl").result(); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_file) + weft::fuzz::feed(data, size, read_pickle);
}
