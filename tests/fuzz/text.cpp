// tests/fuzz/text.cpp: lines of a text, plain or packed with gzip, zstd or xz, from a file and from memory, and the
// pairs with a weight and a score that they make.
#include <cmath>

#include "data/packing/pair_text.h"
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

void read_pairs(std::string_view bytes) {
  const weft::PairFiles files{.tsv = weft::fuzz::file("text", bytes), .columns = "score,source,-,target,weight"};
  weft::PairText text(files);
  for (weft::TextPair pair; text.next(pair);)
    if (!std::isfinite(pair.score) || !(pair.weight >= 0)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input) + weft::fuzz::feed(data, size, unpack) +
         weft::fuzz::feed(data, size, read_pairs);
}
