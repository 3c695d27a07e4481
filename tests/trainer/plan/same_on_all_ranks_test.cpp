// tests/trainer/plan/same_on_all_ranks_test.cpp: ranks that were given different options or corpora.
#include "trainer/plan/same_on_all_ranks.h"

#include <gtest/gtest.h>

#include "parallel/communicator.h"
#include "tests/support/errors.h"
#include "tests/support/text_corpus.h"

namespace weft::testing {
namespace {

// What rank 1 of 2 is told, if `change` makes its options.
template <typename Change>
std::string told_to_rank_1(const std::string& main_corpus, const std::string& main_text, const Change& change) {
  std::string message;
  run_thread_ranks(2, [&](Communicator& world) {
    RunConfig config;
    config.data.train = main_corpus;
    std::string text = main_text;
    if (world.rank() == 1) change(config, text);
    const std::string refusal = message_of(ErrorKind::usage, [&] { require_same_on_all_ranks(config, text, world); });
    if (world.rank() == 1) message = refusal;
  });
  return message;
}

TEST(SameOnAllRanks, NamesTheOptionThatDiffers) {
  const auto change = [](RunConfig&, std::string& text) { text = "[model]\nwidth = 8\n\n[train]\nseed = 2\n"; };
  EXPECT_NE(told_to_rank_1("", "[model]\nwidth = 8\n\n[train]\nseed = 1\n", change)
                .find("rank 1 was given train.seed = 2, rank 0 1"),
            std::string::npos);
}

TEST(SameOnAllRanks, RefusesAnotherCorpus) {
  const TextCorpus corpus(/*num_pairs=*/20), other(/*num_pairs=*/30);
  const auto change = [&](RunConfig& c, std::string&) { c.data.train = other.folder(); };
  EXPECT_NE(told_to_rank_1(corpus.folder(), "", change).find("rank 1 sees another corpus"), std::string::npos);
}

TEST(SameOnAllRanks, AcceptsEqualOnes) {
  run_thread_ranks(3, [](Communicator& world) { require_same_on_all_ranks({}, "[train]\nseed = 1\n", world); });
}

}  // namespace
}  // namespace weft::testing
