// tests/learning/make_grammar.cpp: writes the built-in grammar's sets as text: make_grammar FOLDER [PAIRS [SEED]]
//
// FOLDER gets train, valid, test and combinations, each as .en and .de, with one sentence per line.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/atomic_file.h"
#include "tensor/error.h"
#include "tests/support/grammar/grammar.h"

namespace {

using weft::testing::grammar::Corpus;
using weft::testing::grammar::Text;

int64_t number_from(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    weft::fail(weft::ErrorKind::usage, fmt::format("'{}' is not a number", text));
  return value;
}

void write_set(const std::filesystem::path& folder, const std::string& name, const std::vector<Text>& pairs) {
  std::string en, de;
  for (const Text& pair : pairs) {
    en += pair.en + '\n';
    de += pair.de + '\n';
  }
  weft::write_file_atomically(folder / (name + ".en"), en);
  weft::write_file_atomically(folder / (name + ".de"), de);
}

void write_corpus(const std::filesystem::path& folder, const Corpus& corpus) {
  std::filesystem::create_directories(folder);
  write_set(folder, "train", corpus.train);
  write_set(folder, "valid", corpus.valid);
  write_set(folder, "test", corpus.test);
  write_set(folder, "combinations", corpus.combinations);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments.size() > 3) {
    fmt::print(stderr, "usage: make_grammar FOLDER [PAIRS [SEED]]\n");
    return 2;
  }
  try {
    const int64_t num_pairs = arguments.size() > 1 ? number_from(arguments[1]) : 20000;
    const int64_t seed = arguments.size() > 2 ? number_from(arguments[2]) : 1;
    write_corpus(arguments[0], weft::testing::grammar::make_corpus(num_pairs, static_cast<uint64_t>(seed)));
  } catch (const weft::Error& error) {
    fmt::print(stderr, "make_grammar: {}\n", error.what());
    return error.exit_code();
  }
  return 0;
}
