// tests/trainer/plan/same_on_all_ranks_test.cpp: ranks that were given different options or corpora.
#include "trainer/plan/same_on_all_ranks.h"
#include "tests/support/open_mix.h"

#include <gtest/gtest.h>

#include "parallel/communicator.h"
#include "tests/support/errors.h"
#include "tests/support/synthetic_corpus.h"
#include "tests/support/synthetic_lengths.h"

namespace weft::testing {
namespace {

// What rank 1 of 2 is told, if `change` makes its own.
template <typename Change>
std::string told_to_rank_1(const ResolvedRun& main, const Change& change) {
  std::string message;
  run_thread_ranks(2, [&](Communicator& world) {
    ResolvedRun run = main;
    if (world.rank() == 1) change(run);
    const std::string refusal = message_of(ErrorKind::usage, [&] { require_same_on_all_ranks(run, world); });
    if (world.rank() == 1) message = refusal;
  });
  return message;
}

TEST(SameOnAllRanks, NamesTheOptionThatDiffers) {
  const std::string told = told_to_rank_1({}, [](ResolvedRun& run) { run.config.train.seed = 2; });
  EXPECT_NE(told.find("rank 1 was given train.seed = 2, but rank 0 was given 1"), std::string::npos) << told;
}

TEST(SameOnAllRanks, NamesTheCorporaOfWhichOneDiffers) {
  const SyntheticCorpus train(synthetic_lengths(20, 1)), valid(synthetic_lengths(20, 2));
  const auto told = [&](const auto& change) {
    ResolvedRun run;
    run.config.data.valid = valid.folder();
    run.stages = {{.name = "", .corpora = open_mix(train.folder()).corpora, .end = {}}};
    run.valid = {{.name = "", .folder = valid.folder(), .opened = std::make_shared<Corpus>(valid.folder())}};
    return told_to_rank_1(run, change);
  };
  const std::string refusal =
      fmt::format("rank 1 finds a different corpus than rank 0 in {} or {}: give all ranks the same files",
                  train.folder(), valid.folder());
  EXPECT_NE(told([&](ResolvedRun& run) {
              run.stages[0].corpora[0].opened = std::make_shared<Corpus>(valid.folder());
            }).find(refusal),
            std::string::npos);
  EXPECT_NE(
      told([&](ResolvedRun& run) { run.valid[0].opened = std::make_shared<Corpus>(train.folder()); }).find(refusal),
      std::string::npos);
}

TEST(SameOnAllRanks, NamesOnlyTheTrainingCorpusIfThereIsNoOther) {
  const SyntheticCorpus train(synthetic_lengths(20, 1)), other(synthetic_lengths(20, 2));
  ResolvedRun run;
  run.stages = {{.name = "", .corpora = open_mix(train.folder()).corpora, .end = {}}};
  const std::string told = told_to_rank_1(
      run, [&](ResolvedRun& own) { own.stages[0].corpora[0].opened = std::make_shared<Corpus>(other.folder()); });
  EXPECT_NE(told.find(" than rank 0 in " + train.folder() + ": give"), std::string::npos) << told;
}

TEST(SameOnAllRanks, AcceptsEqualOnesAndOtherDevicesAndTimeouts) {
  run_thread_ranks(3, [](Communicator& world) {
    ResolvedRun run;
    run.config.parallel.timeout = 10 + world.rank();
    run.config.device = world.rank() == 0 ? DeviceChoice::cpu : DeviceChoice::automatic;
    EXPECT_NO_THROW(require_same_on_all_ranks(run, world));
  });
}

}  // namespace
}  // namespace weft::testing
