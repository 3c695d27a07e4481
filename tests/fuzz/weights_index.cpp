// tests/fuzz/weights_index.cpp: model.safetensors.index.json, which names the files of a model's weights.
#include <filesystem>

#include "tests/fuzz/target.h"
#include "tests/fuzz/tensor_files.h"
#include "trainer/import/formats/tensor_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, [](std::string_view bytes) {
    using namespace std::string_literals;
    const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    weft::fuzz::file("a.safetensors", "\x36\0\0\0\0\0\0\0"s + header + "\0\0\x80\x3f"s);
    weft::fuzz::file("model.safetensors.index.json", bytes);
    weft::fuzz::read_all(weft::open_huggingface_weights(weft::fuzz::folder().path()));
  });
}
