// tests/fuzz/huggingface_vocabulary.cpp: tokenizer files of a model that `weft import` takes: vocab.json, a NUL, and
// the SentencePiece model. Without vocab.json, ids are those of the model, shifted.
#include "trainer/import/huggingface/huggingface_vocabulary.h"

#include <filesystem>

#include "data/tokenizer.h"
#include "tests/fuzz/target.h"

namespace {

constexpr int64_t kEntries = 300;

void read_input(std::string_view bytes) {
  const size_t end = bytes.find('\0');
  const std::string ids = weft::fuzz::file("vocab.json", bytes.substr(0, end));
  if (end == 0) std::filesystem::remove(ids);
  weft::fuzz::file("sentencepiece.bpe.model", end == std::string_view::npos ? "" : bytes.substr(end + 1));
  weft::fuzz::file("special_tokens_map.json", R"({"additional_special_tokens": ["eng_Latn", "deu_Latn"]})");
  weft::HuggingFaceConfig config;
  config.model.source_vocabulary = config.model.target_vocabulary = kEntries;
  config.type = "m2m_100", config.has_languages = true;
  config.start = config.eos = 2, config.bos = 0, config.padding = 1;
  const weft::ImportedVocabularies read = weft::read_huggingface_vocabularies(weft::fuzz::folder().path(), config);
  weft::Tokenizer(weft::fuzz::file("imported.model", read.source.tokenizer)).encode("a man in a hat, ein Mann");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
