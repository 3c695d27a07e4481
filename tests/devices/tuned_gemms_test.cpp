// tests/devices/tuned_gemms_test.cpp: runs that time their matrix products: ranks and restarts agree.
#include <regex>

#include "tests/support/small_run.h"

namespace weft::testing {
namespace {

RunConfig tuned_config(const TextCorpus& corpus, int tp) {
  RunConfig config = run_config(corpus);
  config.model.activation = FeedForwardActivation::gelu_tanh;  // with epilogues that give other bits than passes
  config.model.dropout = 0;
  config.model.width = 64, config.model.feed_forward = 128;
  config.train.precision = Precision::bf16;
  config.parallel.tp = tp;
  return resolved(config, tp);
}

Trained trained_with(const TextCorpus& corpus, const std::string& known, std::string& chosen) {
  const auto world = make_single_communicator();
  const RunConfig config = tuned_config(corpus, 1);
  const Mesh mesh(*world, config.parallel, rank_on(Device::cuda, *world));
  SmallRun run(config, mesh);
  Trainer& trainer = run.trainer;
  chosen = trainer.tune_gemms(known);
  Trained result;
  for (int i = 0; i < 3; ++i) result.losses.push_back(run.step().loss());
  result.params = gather(trainer.replica().context(), trainer.replica().params(), mesh.tp(), /*gradients=*/false);
  return result;
}

TEST(TunedGemms, GiveTheSameBitsToTheNextStart) {
  const TextCorpus corpus(/*num_pairs=*/200);
  std::string first, again, changed;
  const Trained run = trained_with(corpus, "", first), next = trained_with(corpus, first, again);
  EXPECT_EQ(again, first) << "nothing is left to time";
  EXPECT_EQ(next.losses, run.losses);
  EXPECT_EQ(next.params, run.params);
  std::string others = first;
  for (const char* way : {"fused", "separate"}) {
    others = std::regex_replace(first, std::regex("\t(fused|separate)\n"), std::string("\t") + way + "\n");
    if (trained_with(corpus, others, changed).params != run.params) return;
  }
  FAIL() << "no choice makes a difference";
}

TEST(TunedGemms, AreTheMainRanksOnEveryRank) {
  const TextCorpus corpus(/*num_pairs=*/200);
  std::vector<std::string> chosen(2);
  run_thread_ranks(2, [&](Communicator& world) {
    const RunConfig config = tuned_config(corpus, 2);
    const Mesh mesh(world, config.parallel, rank_on(Device::cuda, world));
    Trainer trainer(config, mesh);
    chosen[static_cast<size_t>(world.rank())] = trainer.tune_gemms("");
    EXPECT_EQ(trainer.tune_gemms(chosen[static_cast<size_t>(world.rank())]), chosen[0]);
  });
  EXPECT_GT(chosen[0].size(), 200u);
  EXPECT_EQ(chosen[1], chosen[0]);
}

}  // namespace
}  // namespace weft::testing
