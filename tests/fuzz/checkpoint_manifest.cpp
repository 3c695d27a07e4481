// tests/fuzz/checkpoint_manifest.cpp: MANIFEST.json of a checkpoint. The input is the text above its last lines, which
// hold its digest: damage then passes the digest's check.
#include "trainer/checkpoint/checkpoint_manifest.h"

#include "data/sha256.h"
#include "launch/commands/inspect.h"
#include "tests/fuzz/target.h"

namespace {

void read_input(std::string_view bytes) {
  const std::string seal = fmt::format("  \"manifest_sha256\": \"{}\"\n}}\n", weft::sha256_of(bytes));
  weft::fuzz::file("state.json", "");
  weft::fuzz::file(weft::kManifestName, std::string(bytes) + seal);
  weft::inspect_checkpoint(weft::fuzz::folder().path());
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) { return weft::fuzz::without_output(); }
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return weft::fuzz::feed(data, size, read_input);
}
