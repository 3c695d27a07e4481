// tests/fuzz/corpus_manifest.cpp: manifest.json of a packed corpus.
#include "data/shards/manifest.h"
#include "tests/fuzz/target.h"

namespace {

void read_input(std::string_view bytes) {
  weft::fuzz::file(weft::kManifestFile, bytes);
  weft::read_manifest(weft::fuzz::folder().path());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
