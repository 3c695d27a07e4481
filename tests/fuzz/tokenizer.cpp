// tests/fuzz/tokenizer.cpp: a SentencePiece model, as `weft pack --tokenizer` and `weft import` take it from anyone.
#include "data/tokenizer.h"

#include "tests/fuzz/target.h"

namespace {

void read_input(std::string_view bytes) {
  const weft::Tokenizer tokenizer(weft::fuzz::file("tokenizer.model", bytes));
  const auto ids = tokenizer.encode("a man in a hat, ein Mann mit Hut \xE2\x82\xAC");
  tokenizer.decode(ids);
  for (const int32_t id : ids) tokenizer.piece(id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
