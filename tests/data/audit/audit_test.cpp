// tests/data/audit/audit_test.cpp: what is planted into a text is found, once and in order, on any number of threads.
#include "data/audit/audit.h"

#include <gtest/gtest.h>

#include <memory>

#include "data/atomic_file.h"
#include "data/audit/audit_file.h"
#include "data/packing/packer.h"
#include "data/shards/manifest.h"
#include "tests/data/audit/grammar_text.h"
#include "tests/data/pack_fixture.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

AuditedText text_of(const std::vector<TextPair>& pairs) {
  return {.open = [&pairs]() -> AuditedText::Next {
    return [&pairs, next = size_t{0}](TextPair& pair) mutable {
      if (next == pairs.size()) return false;
      pair = pairs[next++];
      return true;
    };
  }};
}

// Sentences that the grammar cannot make.
const TestText kTest{"news",
                     {{{"The committee published its annual report on water quality yesterday.",
                        "Nobody expected the bridge to be closed for three whole months.", "Short one."},
                       {"Der Ausschuss veröffentlichte gestern seinen Jahresbericht zur Wasserqualität.",
                        "Niemand hatte erwartet, dass die Brücke drei Monate lang gesperrt wird.", "Kurz."}}}};

struct Found {
  AuditReport report;
  std::vector<std::string> faults;  // "NUMBER reason"
};

Found audit_of(const std::vector<TextPair>& pairs, const std::vector<TestText>& tests, int threads = 2) {
  Found found;
  AuditOptions options{.threads = threads};
  options.on_fault = [&](const FaultyPair& p) { found.faults.push_back(fmt::format("{} {}", p.number, p.reason)); };
  found.report = audit(text_of(pairs), tests, options);
  return found;
}

TEST(Audit, OfACleanTextFindsNothing) {
  const std::vector<TextPair> pairs = grammar_pairs(3000, 1);
  const Found found = audit_of(pairs, {kTest});
  EXPECT_EQ(found.faults, std::vector<std::string>{});
  EXPECT_EQ(found.report.num_pairs, 3000);
  ASSERT_EQ(found.report.sets.size(), 1);
  EXPECT_EQ(found.report.sets[0].lines, 3);
  EXPECT_EQ(found.report.sets[0].left_out, 1);
  EXPECT_EQ(found.report.sets[0].leaked, 0);
}

TEST(Audit, FindsWhatIsPlantedOnAnyNumberOfThreads) {
  std::vector<TextPair> pairs = grammar_pairs(3000, 1);
  pairs[17].source = kTest.sides[0][0];
  pairs[1400].target = "Niemand hatte erwartet, dass diese Brücke drei Monate lang gesperrt wird.";
  pairs[2222] = {"the committee published its annual report on WATER quality yesterday", kTest.sides[1][0]};
  pairs[2500].target = "Er trinkt fÃ¼r sein Leben gern Wasser.";
  pairs[2999].target = grammar_pairs(1, 5)[0].source + " " + grammar_pairs(1, 6)[0].source;
  for (const int threads : {1, 2, 5}) {
    const Found found = audit_of(pairs, {kTest}, threads);
    EXPECT_EQ(found.faults, (std::vector<std::string>{"17 repeats line 1 of news (source, exact)",
                                                      "1400 repeats line 2 of news (target, near)",
                                                      "2222 repeats line 1 of news (source, normalized)",
                                                      "2500 target: UTF-8 that was read as Windows-1252",
                                                      "2999 target: in the language of the other side"}));
    const TestSetAudit& set = found.report.sets[0];
    EXPECT_EQ(set.leaked, 2);
    EXPECT_EQ(set.both_sides, 1);
    EXPECT_EQ(set.repeated[0], (std::array<int64_t, 4>{2, 0, 0, 1}));
    EXPECT_EQ(set.repeated[1], (std::array<int64_t, 4>{1, 1, 0, 1}));
    EXPECT_EQ(found.report.num_faulty, 5);
  }
}

TEST(Audit, FindsDuplicatesInATestSetAndLinesOfAnother) {
  TestText twice = kTest;
  for (auto& side : twice.sides) side.push_back(side[0]);
  TestText other{"dev",
                 {{{kTest.sides[0][1], "Entirely unrelated words fill this line."},
                   {"Etwas ganz anderes steht hier.", "Unverwandte Wörter füllen diese Zeile."}}}};
  const std::vector<TextPair> pairs = grammar_pairs(100, 1);
  const AuditReport report = audit_of(pairs, {twice, other}).report;
  EXPECT_EQ(report.sets[0].duplicates, 1);
  EXPECT_EQ(report.sets[1].duplicates, 0);
  using Others = std::vector<std::pair<std::string, int64_t>>;
  EXPECT_EQ(report.sets[0].in_others, (Others{{"dev", 1}}));
  EXPECT_EQ(report.sets[1].in_others, (Others{{"news", 1}}));
}

TEST(Audit, RefusesATestSetWithUnequalSides) {
  TestText uneven = kTest;
  uneven.sides[1].pop_back();
  const std::vector<TextPair> pairs = grammar_pairs(10, 1);
  EXPECT_EQ(message_of(ErrorKind::data, [&] { audit_of(pairs, {uneven}); }),
            "the test set news has 3 sources, but 2 targets");
  EXPECT_EQ(message_of(ErrorKind::data, [&] { audit_of(pairs, {{"empty", {}}}); }), "the test set empty has no lines");
}

TEST(AuditFile, IsKeptUntilTheCorpusChanges) {
  const TemporaryFolder folder;
  const std::string corpus = folder / "corpus";
  const auto pack_sentences = [&](uint64_t seed) {
    write_file_atomically(folder / "source", joined(sentences(20, seed)));
    write_file_atomically(folder / "target", joined(sentences(20, seed + 1)));
    pack({.text = {.source = folder / "source", .target = folder / "target"},
          .output = corpus,
          .tokenizer = small_tokenizer(),
          .existing = ExistingCorpus::replace},
         [](const char*, int64_t, int64_t) {});
  };
  pack_sentences(1);
  const auto digests = [](const TestText& test) {
    return std::array{digest_of(test.sides[0]), digest_of(test.sides[1])};
  };
  EXPECT_FALSE(find_audit(corpus, digests(kTest)));
  std::vector<TextPair> pairs = grammar_pairs(100, 1);
  pairs[3].source = kTest.sides[0][0];
  keep_audit(corpus, audit_of(pairs, {kTest}).report);
  TestText other{"other", {{{"A line that no other text contains."}, {"Eine Zeile, die sonst nirgends steht."}}}};
  keep_audit(corpus, audit_of(pairs, {other}).report);
  const auto found = find_audit(corpus, digests(kTest));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "news");
  EXPECT_EQ(found->lines, 3);
  EXPECT_EQ(found->leaked, 1);
  ASSERT_TRUE(find_audit(corpus, digests(other)));
  EXPECT_EQ(find_audit(corpus, digests(other))->leaked, 0);

  pack_sentences(3);
  EXPECT_FALSE(find_audit(corpus, digests(kTest)));
  keep_audit(corpus, audit_of(pairs, {}).report);
  EXPECT_FALSE(find_audit(corpus, digests(kTest))) << "an audit without test sets";
  const std::string sha256 = read_manifest(corpus).sha256;
  for (const char* sets : {"[3]", "\"x\"", "null", "[{\"source_sha256\": 3}]", "[{\"name\": \"a\"}]"}) {
    write_file_atomically(corpus + "/" + kAuditFile,
                          fmt::format(R"({{"corpus_sha256": "{}", "sets": {}}})", sha256, sets));
    EXPECT_NE(message_of(ErrorKind::data, [&] { find_audit(corpus, digests(kTest)); }).find("delete it, and repeat"),
              std::string::npos)
        << sets;
    keep_audit(corpus, audit_of(pairs, {kTest}).report);  // replaces it
    EXPECT_TRUE(find_audit(corpus, digests(kTest))) << sets;
  }
}

}  // namespace
}  // namespace weft::testing
