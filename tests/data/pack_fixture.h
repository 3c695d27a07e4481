// tests/data/pack_fixture.h: fixture of the packing tests: a temporary folder, small texts and a small
// tokenizer.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/subword/train_tokenizer.h"
#include "tensor/random.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Sentences of 3 to 9 made-up words; each begins with its number, so all are different.
inline std::vector<std::string> sentences(int64_t count, uint64_t seed) {
  static const char* const kSyllables[] = {"ka", "lo", "mi", "ren", "tu", "sa", "vor", "ne", "pi", "dul"};
  std::vector<std::string> lines;
  for (int64_t i = 0; i < count; ++i) {
    const auto draw = [&](uint64_t n, uint32_t limit) {
      return random_bits(seed, static_cast<uint64_t>(i) * 64 + n, 0, purpose_of("test.text")) % limit;
    };
    std::string line = std::to_string(i);
    for (uint64_t word = 0; word < 3 + draw(0, 7); ++word)
      line += std::string(" ") + kSyllables[draw(1 + 2 * word, 10)] + kSyllables[draw(2 + 2 * word, 10)];
    lines.push_back(line);
  }
  return lines;
}

// A tokenizer file of 400 entries for sentences(), which exists until the test program ends.
inline const std::string& small_tokenizer() {
  static const TemporaryFolder folder;
  static const std::string file = [] {
    write_file_atomically(folder / "small.model", train_tokenizer(sentences(500, 1), {.vocab_size = 400}));
    return folder / "small.model";
  }();
  return file;
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

inline void flip_byte(const std::string& path, size_t position) {
  std::string bytes = read_file(path);
  bytes.at(position) = static_cast<char>(bytes[position] ^ 0x10);
  write_file_atomically(path, bytes);
}

}  // namespace weft::testing
