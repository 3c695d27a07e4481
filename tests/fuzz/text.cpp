// tests/fuzz/text.cpp: lines of a text, plain or packed with gzip, zstd or xz, from a file and from memory.
#include "data/text/compression.h"
#include "data/text/text_reader.h"
#include "tests/fuzz/target.h"

namespace {

void read_input(std::string_view bytes) {
  weft::TextReader text(weft::fuzz::file("text", bytes));
  for (std::string line; text.next(line);)
    if (line.find('\n') != std::string::npos) std::abort();
}

void unpack(std::string_view bytes) { weft::unpacked(std::string(bytes), "standard input"); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input) + weft::fuzz::feed(data, size, unpack);
}
