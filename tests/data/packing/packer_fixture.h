// tests/data/packing/packer_fixture.h: small texts packed into a temporary folder, and what became of them.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "data/corpus.h"
#include "data/packing/packer.h"
#include "tests/data/pack_fixture.h"

namespace weft::testing {

inline void no_progress(const char*, int64_t, int64_t) {}

struct Child {
  int code = -1;
  int64_t peak_mb = 0;  // resident memory
};

// Runs `action` in a separate process; its Error becomes the exit code.
template <typename Action>
Child in_child(Action action) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 0;
    try {
      action();
    } catch (const Error& error) {
      code = error.exit_code();
    }
    _exit(code);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .peak_mb = usage.ru_maxrss / 1024};
}

class PackerTest : public ::testing::Test {
 protected:
  void write(const std::vector<std::string>& source, const std::vector<std::string>& target) {
    write_file_atomically(folder_ / "source.txt", joined(source));
    write_file_atomically(folder_ / "target.txt", joined(target));
  }
  PackOptions options(const std::string& output = "packed") const {
    PackOptions o;
    o.text.source = folder_ / "source.txt";
    o.text.target = folder_ / "target.txt";
    o.output = folder_ / output;
    o.tokenizer = testing::small_tokenizer();
    o.source_normalization = o.target_normalization = Normalization::identity;  // one tokenizer for both sides
    return o;
  }
  void expect_refused(const PackOptions& o, ErrorKind kind, const std::vector<std::string>& parts) {
    const std::vector<std::string> before = names_in(folder_.path());
    expect_error([&] { pack(o, no_progress); }, kind, parts);
    EXPECT_EQ(names_in(folder_.path()), before) << "something half-written remains";
  }
  std::vector<std::string> texts_of(const std::string& output, bool target) {
    Corpus corpus(folder_ / output);
    const Manifest& m = corpus.manifest();
    const Tokenizer tokenizer(corpus.folder() + "/" + (target ? m.target_tokenizer : m.source_tokenizer));
    std::vector<PairIds> pairs;
    corpus.read_pairs(0, corpus.num_pairs(), pairs);
    std::vector<std::string> lines;
    for (const PairIds& pair : pairs) lines.push_back(tokenizer.decode(target ? pair.target : pair.source));
    return lines;
  }
  void expect_same_bytes(const std::string& a, const std::string& b) {
    ASSERT_EQ(names_in(folder_ / a), names_in(folder_ / b));
    for (const std::string& name : names_in(folder_ / a))
      EXPECT_TRUE(read_file(folder_ / (a + "/" + name)) == read_file(folder_ / (b + "/" + name))) << name;
  }
  TemporaryFolder folder_;
};

}  // namespace weft::testing
