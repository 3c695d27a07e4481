// show CORPUS CHECKPOINT: the first pair of a packed corpus, and the tensors of a checkpoint's model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/corpus.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/safetensors.h"

int main(int, char** argv) try {
  weft::Corpus corpus(argv[1]);
  std::vector<weft::PairIds> pairs;
  corpus.read_pairs(/*first=*/0, /*count=*/1, pairs);
  fmt::print("{} pairs; {} -> {}\n", corpus.num_pairs(), pairs[0].source, pairs[0].target);
  const weft::SafetensorsFile model(weft::resolve_checkpoint(argv[2]) + "/model.safetensors");
  for (const auto& [name, entry] : model.entries()) fmt::print("{} {}\n", name, entry.shape);
} catch (const std::exception& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
