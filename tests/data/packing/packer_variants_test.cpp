// tests/data/packing/packer_variants_test.cpp: variants of pairs, from text to the corpus: version 3 of the format.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "data/noise/letter_case.h"
#include "tests/data/packing/packer_fixture.h"
#include "tests/data/sentencepiece_model.h"

namespace weft::testing {
namespace {

constexpr int64_t kVariants = 3, kPairs = 1500;

class PackerVariantsTest : public PackerTest {
 protected:
  PackerVariantsTest() { write(sentences(kPairs, 5), sentences(kPairs, 6)); }

  PackOptions varied(const std::string& output, const VariantOptions& variants) const {
    PackOptions o = options(output);
    o.shard_pairs = 400;
    o.variants = variants;
    o.shuffle = false;
    return o;
  }
  std::vector<PairIds> variant_of(const std::string& output, int64_t variant) const {
    Corpus corpus(folder_ / output);
    std::vector<PairIds> pairs;
    corpus.read_pairs(0, corpus.num_pairs(), pairs, variant);
    return pairs;
  }
  static std::string text_of(const std::vector<int32_t>& ids) {
    static const Tokenizer tokenizer(small_tokenizer());
    return tokenizer.decode(ids);
  }
};

const VariantOptions kAll{.count = kVariants,
                          .bpe_dropout = 0.2,
                          .noise = "upper=0.1,title=0.1,typos=0.3,punctuation=0.2,words=0.3",
                          .noise_target = "upper",
                          .concatenate = 0.2,
                          .insert = "emoji=0.1,markup=0.1"};

TEST_F(PackerVariantsTest, AreTheSameForAnyNumberOfThreads) {
  PackOptions o = varied("one", kAll);
  o.shuffle = true;
  pack(o, no_progress);
  o.output = folder_ / "four";
  o.threads = 4;
  pack(o, no_progress);
  expect_same_bytes("one", "four");
}

TEST_F(PackerVariantsTest, AreThoseOfTheirPairsAlsoWhenShuffled) {
  PackOptions o = varied("ordered", kAll);
  pack(o, no_progress);
  o.output = folder_ / "shuffled";
  o.shuffle = true;
  o.shard_pairs = 40;  // the shuffle divides its files
  pack(o, no_progress);
  using Texts = std::vector<std::vector<int32_t>>;
  const auto texts_of = [&](const std::string& output) {
    std::multiset<Texts> all;
    std::vector<Texts> texts(kPairs);
    for (int64_t v = 0; v < kVariants; ++v) {
      const std::vector<PairIds> pairs = variant_of(output, v);
      for (size_t i = 0; i < pairs.size(); ++i)
        texts[i].push_back(pairs[i].source), texts[i].push_back(pairs[i].target);
    }
    all.insert(texts.begin(), texts.end());
    return all;
  };
  EXPECT_EQ(texts_of("ordered"), texts_of("shuffled"));
}

TEST_F(PackerVariantsTest, AreFunctionsOfSeedPairAndNumberAlone) {
  pack(varied("whole", kAll), no_progress);
  write(sentences(300, 5), sentences(300, 6));
  pack(varied("beginning", kAll), no_progress);
  PackOptions o = varied("seed", kAll);
  o.seed = 2;
  pack(o, no_progress);
  int same = 0;
  for (int64_t v = 0; v < kVariants; ++v) {
    const std::vector<PairIds> whole = variant_of("whole", v), part = variant_of("beginning", v),
                               other = variant_of("seed", v);
    ASSERT_EQ(part.size(), 300u);
    for (size_t i = 0; i < part.size(); ++i) {
      ASSERT_EQ(part[i].source, whole[i].source);
      ASSERT_EQ(part[i].target, whole[i].target);
      same += other[i].source == whole[i].source;
    }
  }
  EXPECT_LT(same, 90);
}

TEST_F(PackerVariantsTest, DifferInTheirSegmentationsAlone) {
  PackOptions o = varied("packed", {.count = kVariants, .bpe_dropout = 0.3, .subword_sides = SubwordSides::source});
  const PackSummary summary = pack(o, no_progress);
  EXPECT_EQ(summary.manifest.num_pairs, kPairs);
  EXPECT_EQ(summary.counts.kept, kPairs);
  EXPECT_EQ(read_manifest(folder_ / "packed").variants.made_by,
            (std::map<std::string, std::string>{{"bpe-dropout", "0.3"}, {"subword-sides", "source"}}));
  const std::vector<std::string> source = sentences(kPairs, 5), target = sentences(kPairs, 6);
  const std::vector<PairIds> first = variant_of("packed", 0), second = variant_of("packed", 1);
  const Tokenizer tokenizer(small_tokenizer());
  int same = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    ASSERT_EQ(text_of(first[i].source), source[i]);
    ASSERT_EQ(text_of(second[i].source), source[i]);
    ASSERT_EQ(first[i].target, second[i].target);
    ASSERT_EQ(first[i].target, tokenizer.encode(target[i])) << "not sampled";
    same += first[i].source == second[i].source;
  }
  EXPECT_LT(same, kPairs / 20);
}

TEST_F(PackerVariantsTest, HaveNoiseInTheSourceAndWhereAskedInTheTarget) {
  pack(varied("source", {.count = 1, .noise = "upper=1"}), no_progress);
  pack(varied("both", {.count = 1, .noise = "upper=0.5,title=0.5", .noise_target = "upper"}), no_progress);
  const std::vector<std::string> source = sentences(kPairs, 5), target = sentences(kPairs, 6);
  const std::vector<PairIds> upper = variant_of("source", 0), both = variant_of("both", 0);
  int num_upper = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    ASSERT_EQ(text_of(upper[i].source), upper_case(source[i]));
    ASSERT_EQ(text_of(upper[i].target), target[i]);
    const bool is_upper = text_of(both[i].source) == upper_case(source[i]);
    num_upper += is_upper;
    ASSERT_EQ(text_of(both[i].source), is_upper ? upper_case(source[i]) : title_case(source[i]));
    ASSERT_EQ(text_of(both[i].target), is_upper ? upper_case(target[i]) : target[i]);
  }
  EXPECT_NEAR(num_upper, kPairs / 2, kPairs / 15);
}

TEST_F(PackerVariantsTest, HaveMarksToCopyThatNoiseLeavesAlone) {
  pack(varied("packed", {.count = 1, .noise = "upper=1", .insert = "markup=1"}), no_progress);
  const std::vector<std::string> source = sentences(kPairs, 5);
  const std::vector<PairIds> pairs = variant_of("packed", 0);
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::string text = text_of(pairs[i].source), target = text_of(pairs[i].target);
    const size_t begin = text.find('<'), end = text.find('>');
    ASSERT_LT(begin, end);
    const std::string mark = text.substr(begin, end + 1 - begin);
    ASSERT_NE(target.find(mark), std::string::npos) << text << " | " << target;
    if (text.find("</") == std::string::npos) continue;
    text.erase(begin, mark.size());
    text.erase(text.find("</"), text.find('>') + 1 - text.find("</"));
    ASSERT_EQ(text, upper_case(source[i]));
  }
}

TEST_F(PackerVariantsTest, BeginWithThePairBefore) {
  PackOptions o = varied("packed", {.count = kVariants, .concatenate = 0.4});
  o.filter.drop_identical = true;
  std::vector<std::string> source = sentences(kPairs, 5), target = sentences(kPairs, 6);
  source[7] = target[7];  // dropped: is before no other
  write(source, target);
  pack(o, no_progress);
  int joined = 0;
  for (int64_t v = 0; v < kVariants; ++v) {
    const std::vector<PairIds> pairs = variant_of("packed", v);
    ASSERT_EQ(pairs.size(), static_cast<size_t>(kPairs - 1));
    for (size_t i = 0; i < pairs.size(); ++i) {
      const size_t line = i < 7 ? i : i + 1;
      const std::string text = text_of(pairs[i].source);
      if (text == source[line]) {
        ASSERT_EQ(text_of(pairs[i].target), target[line]);
        continue;
      }
      ++joined;
      ASSERT_NE(line, 0u);
      ASSERT_NE(line, 8u);
      ASSERT_EQ(text, source[line - 1] + " " + source[line]);
      ASSERT_EQ(text_of(pairs[i].target), target[line - 1] + " " + target[line]);
    }
  }
  EXPECT_NEAR(joined, 0.4 * kVariants * kPairs, 0.03 * kVariants * kPairs);
}

TEST_F(PackerVariantsTest, ThatAreTooLongOrEmptyAreThePlainPair) {
  std::vector<std::string> source = sentences(200, 5), target = sentences(200, 6);
  source[3] = ".";
  write(source, target);
  PackOptions o = varied("packed", {.count = kVariants, .bpe_dropout = 0.9, .noise = "punctuation=1"});
  o.filter.max_length = 20;
  const PackSummary summary = pack(o, no_progress);
  o = varied("plain", {});
  o.filter.max_length = 20;
  pack(o, no_progress);
  const std::vector<PairIds> plain = variant_of("plain", 0);
  EXPECT_EQ(static_cast<int64_t>(plain.size()), summary.counts.kept);
  int64_t same = 0;
  for (int64_t v = 0; v < kVariants; ++v) {
    const std::vector<PairIds> pairs = variant_of("packed", v);
    for (size_t i = 0; i < pairs.size(); ++i) {
      ASSERT_LE(std::max(pairs[i].source.size(), pairs[i].target.size()), 20u);
      same += pairs[i].source == plain[i].source && pairs[i].target == plain[i].target;
    }
    EXPECT_TRUE(text_of(pairs[3].source) == "." || text_of(pairs[3].source) == "..");
  }
  EXPECT_GT(summary.counts.plain_variants, 0);
  EXPECT_LE(summary.counts.plain_variants, same);
}

TEST_F(PackerVariantsTest, TeachATokenizerTheirLetterCases) {
  const std::string capitals = "KALO MIREN TUSA";
  const auto tokens_of_capitals = [&](const std::string& noise) {
    PackOptions o = varied("packed", {.count = 1, .bpe_dropout = 0.1, .noise = noise});
    o.tokenizer.clear();
    o.vocab_size = 400;
    o.existing = ExistingCorpus::replace;
    pack(o, no_progress);
    return Tokenizer(folder_ / "packed/tokenizer.model").encode(capitals).size();
  };
  pack(varied("packed", kAll), no_progress);
  EXPECT_GE(tokens_of_capitals("typos=0.5"), capitals.size() - 2);
  EXPECT_LE(tokens_of_capitals("upper=0.5"), capitals.size() / 2);
}

TEST_F(PackerVariantsTest, StayWithTheWeightsOfTheirPairs) {
  std::vector<std::string> weights;
  for (int64_t i = 0; i < kPairs; ++i) weights.push_back(std::to_string(i));
  write_file_atomically(folder_ / "weights", joined(weights));
  PackOptions o = varied("packed", {.count = kVariants, .bpe_dropout = 0.1});
  o.text.weights = folder_ / "weights";
  o.shuffle = true;
  pack(o, no_progress);
  EXPECT_EQ(read_manifest(folder_ / "packed").version, 3);
  for (int64_t v = 0; v < kVariants; ++v)
    for (const PairIds& pair : variant_of("packed", v)) ASSERT_EQ(pair.weight, std::stof(text_of(pair.source)));
}

TEST_F(PackerVariantsTest, OfAnAppendAreMadeAsInTheCorpus) {
  pack(varied("packed", kAll), no_progress);
  const Variants before = read_manifest(folder_ / "packed").variants;
  PackOptions o = varied("packed", {});
  o.tokenizer.clear();
  o.existing = ExistingCorpus::extend;
  write(sentences(100, 15), sentences(100, 16));
  const PackSummary summary = pack(o, no_progress);
  EXPECT_EQ(summary.variants, kAll);
  EXPECT_EQ(summary.num_added_pairs, 100);
  const Manifest after = read_manifest(folder_ / "packed");
  EXPECT_EQ(after.variants.made_by, before.made_by);
  EXPECT_EQ(after.num_pairs, kPairs + 100);
  EXPECT_EQ(variant_of("packed", kVariants - 1).size(), static_cast<size_t>(kPairs + 100));
  o.variants = kAll;
  expect_refused(o, ErrorKind::usage, {"--append makes the same variants as the corpus"});
}

TEST_F(PackerVariantsTest, AreRefusedInOneLineWhereOptionsAreWrong) {
  const auto refused = [&](const VariantOptions& variants, const std::string& part) {
    expect_refused(varied("packed", variants), ErrorKind::usage, {part});
  };
  refused({.count = -1}, "--variants -1: must be from 1 to 1000, or 0 for none");
  refused({.count = 1001, .bpe_dropout = 0.1}, "--variants 1001: must be from 1 to 1000");
  refused({.count = 2}, "--variants 2 would make equal variants: add --bpe-dropout");
  refused({.bpe_dropout = 0.1}, "need --variants");
  refused({.concatenate = 0.1}, "need --variants");
  refused({.insert = "emoji=0.1"}, "need --variants");
  refused({.count = 2, .insert = "smile=1"}, "--insert smile=1: 'smile' is not a kind of mark");
  refused({.count = 2, .bpe_dropout = 1}, "--bpe-dropout 1: must be a probability that is at least 0 and below 1");
  refused({.count = 2, .bpe_dropout = -0.1}, "--bpe-dropout -0.1: must be a probability");
  refused({.count = 2, .unigram_alpha = -1}, "--unigram-alpha -1: must be above 0");
  refused({.count = 2, .concatenate = 2}, "--concatenate 2: must be a probability");
  refused({.count = 2, .noise = "loud=1"}, "--noise loud=1: 'loud' is not a kind of noise");
  refused({.count = 2, .noise = "upper=1", .noise_target = "typos"},
          "--noise-target typos: 'typos' is not a letter case");
  refused({.count = 2, .subword_sides = SubwordSides::source, .noise = "upper=1"},
          "--subword-sides needs --bpe-dropout or --unigram-alpha");
  refused({.count = 2, .unigram_alpha = 0.1}, "is a BPE model; give --bpe-dropout instead");
  PackOptions o = varied("packed", {.count = 2, .unigram_alpha = 0.1});
  o.tokenizer.clear();
  expect_refused(o, ErrorKind::usage, {"--unigram-alpha needs a unigram model, but `weft pack` trains a BPE model"});
}

TEST_F(PackerVariantsTest, OfUnigramModelsAreSampled) {
  PackOptions o = varied("packed", {.count = 2, .unigram_alpha = 0.1});
  o.tokenizer = train_sentencepiece(folder_, {{"model_type", "unigram"}, {"vocab_size", "90"}});
  pack(o, no_progress);
  const std::vector<PairIds> first = variant_of("packed", 0), second = variant_of("packed", 1);
  const Tokenizer tokenizer(o.tokenizer);
  int same = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    ASSERT_EQ(tokenizer.decode(first[i].target), tokenizer.decode(second[i].target));
    same += first[i].target == second[i].target;
  }
  EXPECT_LT(same, kPairs * 2 / 3);  // many words have one segmentation in so small a model
  o.variants = {.count = 2, .bpe_dropout = 0.1};
  o.existing = ExistingCorpus::replace;
  expect_refused(o, ErrorKind::usage, {"--bpe-dropout: ", "is a unigram model; give --unigram-alpha instead"});
}

}  // namespace
}  // namespace weft::testing
