// tests/support/text_corpus.h: packs a small parallel text in a temporary folder: sentences of number words,
// and their translations in reverse order. A pure function of the seed.
#pragma once

#include <fstream>
#include <functional>
#include <string>

#include "data/packing/packer.h"
#include "tensor/random.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {

struct TextNumbers {  // of the i-th pair; not given: without
  std::function<double(int)> weight, score;
  int64_t variants = 0;  // of each pair, with other segmentations
};

class TextCorpus {
 public:
  using Numbers = TextNumbers;

  // `like`: the folder of a packed corpus whose tokenizer is used.
  explicit TextCorpus(int num_pairs, int vocabulary = 290, uint64_t seed = 1, const std::string& like = "",
                      const Numbers& numbers = {}) {
    const char* const english[] = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"};
    const char* const german[] = {"eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn"};
    std::ofstream source(file("text.en")), target(file("text.de"));
    uint64_t n = 0;
    const auto draw = [&](uint32_t limit) { return random_bits(seed, n++, 0, purpose_of("text")) % limit; };
    for (int i = 0; i < num_pairs; ++i) {
      std::string s, t;
      for (uint32_t words = 1 + draw(9); words > 0; --words) {
        const uint32_t w = draw(10);
        s += (s.empty() ? "" : " ") + std::string(english[w]);
        t = std::string(german[w]) + (t.empty() ? "" : " ") + t;
      }
      source << s << '\n', target << t << '\n';
    }
    source.close(), target.close();
    const std::string weights = write_numbers("weights", num_pairs, numbers.weight),
                      scores = write_numbers("scores", num_pairs, numbers.score);
    pack({.text = {.source = file("text.en"), .target = file("text.de"), .weights = weights, .scores = scores},
          .output = folder(),
          .vocab_size = vocabulary,
          .source_normalization = Normalization::identity,  // one tokenizer for both sides
          .target_normalization = Normalization::identity,
          .tokenizer = like.empty() ? "" : like + "/tokenizer.model",
          .variants = {.count = numbers.variants, .bpe_dropout = numbers.variants > 0 ? 0.2 : 0}},
         [](const char*, int64_t, int64_t) {});
  }
  std::string folder() const { return file("packed"); }
  std::string file(const std::string& name) const { return temporary_.path() + "/" + name; }
  const std::string& path() const { return temporary_.path(); }

 private:
  std::string write_numbers(const std::string& name, int count, const std::function<double(int)>& of_pair) const {
    if (!of_pair) return "";
    std::ofstream out(file(name));
    for (int i = 0; i < count; ++i) out << of_pair(i) << '\n';
    return file(name);
  }

  TemporaryFolder temporary_;
};

}  // namespace weft::testing
