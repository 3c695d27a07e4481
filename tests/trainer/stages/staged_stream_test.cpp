// tests/trainer/stages/staged_stream_test.cpp: random stages of random mixes, on random grids and stopped at random:
// the whole run gives the same pairs, epochs and variants, shares are exact, and no epoch loses or doubles a pair.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>

#include "data/loader.h"
#include "data/order/variant_turns.h"
#include "tests/support/resolved.h"
#include "tests/support/synthetic_corpus.h"
#include "tests/support/synthetic_lengths.h"
#include "trainer/stages/stage_run.h"
#include "trainer/train_state.h"

namespace weft {
namespace {

using testing::SyntheticCorpus;

constexpr int32_t kLongPair = 300;  // source tokens: it fits no block

float score_of_pair(int64_t pair) { return 0.1f * static_cast<float>(7 * pair % 10); }

struct StreamCorpus {
  StreamCorpus(int64_t num_pairs, int64_t variants, bool scored, bool has_long_pairs = false)
      : scored(scored),
        stored(
            [&] {
              std::vector<PairLength> lengths = testing::synthetic_lengths(num_pairs, static_cast<uint64_t>(num_pairs));
              for (size_t i = 5; has_long_pairs && i < lengths.size(); i += 25) lengths[i].source = kLongPair;
              return lengths;
            }(),
            /*pairs_per_shard=*/700, variants,
            scored ? SyntheticCorpus::Numbers{.weight = {}, .score = score_of_pair} : SyntheticCorpus::Numbers{}),
        num_variants(std::max<int64_t>(variants, 1)) {}

  bool scored;
  SyntheticCorpus stored;
  int64_t num_variants;
};

const std::vector<std::unique_ptr<StreamCorpus>>& all_corpora() {
  static const std::vector<std::unique_ptr<StreamCorpus>> corpora = [] {
    std::vector<std::unique_ptr<StreamCorpus>> made;
    made.push_back(std::make_unique<StreamCorpus>(3, 0, false));
    made.push_back(std::make_unique<StreamCorpus>(14, 4, false));
    made.push_back(std::make_unique<StreamCorpus>(60, 3, true));
    made.push_back(std::make_unique<StreamCorpus>(400, 0, true, /*has_long_pairs=*/true));
    made.push_back(std::make_unique<StreamCorpus>(2500, 2, true));
    return made;
  }();
  return corpora;
}

const StreamCorpus& corpus_in(const std::string& folder) {
  return **std::ranges::find(all_corpora(), folder, [](const auto& c) { return c->stored.folder(); });
}

class RandomStages {
 public:
  explicit RandomStages(uint32_t seed) : random_(seed) {
    config_.train.seed = seed;
    config_.batch.rows = 32 * from(3, 8), config_.batch.blocks = from(1, 8);
    config_.batch.source_rows = config_.batch.rows - 16 * from(0, 1);
    config_.batch.look_ahead = 16 * from(1, 4), config_.batch.page = 8 * from(1, 4), config_.batch.window = from(1, 8);
    const int64_t stages = from(1, 4);
    for (int64_t i = 0; i < stages; ++i) config_.stages.push_back(stage(fmt::format("s{}", i), i + 1 == stages));
  }
  const RunConfig& config() const { return config_; }
  int64_t from(int64_t least, int64_t most) { return least + random_() % (most - least + 1); }

 private:
  StageConfig stage(const std::string& name, bool is_last) {
    StageConfig stage{.name = name};
    std::string folder;  // one of the mix
    for (const auto& corpus : all_corpora()) {
      if (from(0, 1) == 0 && !(folder.empty() && corpus == all_corpora().back())) continue;
      folder = corpus->stored.folder();
      const std::string comma = stage.mix.empty() ? "" : ",";
      stage.mix += fmt::format("{}{}:{}", comma, folder, from(1, from(0, 1) == 0 ? 4 : 90));
      if (!corpus->scored || from(0, 2) > 0) continue;
      stage.min_score += fmt::format("{}{}:0.{}5", stage.min_score.empty() ? "" : ",", folder, from(0, 7));
    }
    const int64_t end = from(0, is_last ? 3 : 2);
    if (end == 0) stage.steps = from(1, 40);
    if (end == 1) stage.tokens = from(1, 40'000);
    if (end == 2) stage.epochs = fmt::format("{}:{}", folder, from(1, 2));
    return stage;
  }

  std::mt19937 random_;
  RunConfig config_;
};

struct GivenPair : EpochPair {
  int64_t variant = 0;
  bool operator==(const GivenPair&) const = default;
};

struct StagedStep {
  size_t stage = 0;
  std::vector<std::vector<GivenPair>> blocks;
  bool operator==(const StagedStep&) const = default;
};

// The data of all ranks of a grid, as TrainingData keeps it.
class StagedRanks {
 public:
  StagedRanks(const RunConfig& config, int dp, const std::string& saved = "") : config_(config), dp_(dp) {
    for (int i = 0; i < dp; ++i) {
      ranks_.push_back({.index = i, .stages = StageRun(testing::open_stages(config)), .loader = nullptr});
      Rank& rank = ranks_.back();
      if (saved.empty()) {
        open(rank, {});
        continue;
      }
      TrainState state = state_from_text(saved, config.batch.blocks, i, dp);
      EXPECT_TRUE(rank.stages.resume(state.data, state.cursor).empty());
      open(rank, state.cursor);
    }
  }

  const StageRun& stages() const { return ranks_.front().stages; }
  std::vector<RunCorpus> corpora() const { return stages().state().corpora; }
  std::string folder(int64_t corpus) const { return corpora().at(static_cast<size_t>(corpus)).folder; }
  bool is_over() const { return stages().is_last() && stages().is_over(); }

  StagedStep step() {
    StagedStep all{.stage = stages().index(), .blocks = {}};
    std::vector<CorpusTotals> totals(stages().mix().corpora.size());
    int64_t target_tokens = 0;
    for (Rank& rank : ranks_) {
      const Step step = rank.loader->next();
      target_tokens += step.target_tokens();
      for (size_t i = 0; i < totals.size(); ++i) totals[i].passed += step.corpora[i].passed;
      for (const Block& block : step.blocks)
        if (block.num_sentences() > 0) all.blocks.push_back(pairs_of(block));  // a rank too many has none
    }
    for (Rank& rank : ranks_) {
      rank.stages.add_step(target_tokens, totals);
      if (!rank.stages.is_over() || rank.stages.is_last()) continue;
      StepCursor cursor = rank.loader->cursor();
      rank.stages.advance(cursor);
      open(rank, cursor);
    }
    return all;
  }

  StepCursor cursor() const {
    StepCursor all = ranks_[0].loader->cursor();
    for (const Rank& rank : ranks_) all.streams.merge(rank.loader->cursor().streams);
    return all;
  }
  std::string save() const {
    TrainState state;
    state.cursor = cursor();
    state.data = stages().state();
    return state_to_text(state);
  }

 private:
  struct Rank {
    int index;
    StageRun stages;
    std::unique_ptr<Loader> loader;
  };

  void open(Rank& rank, const StepCursor& cursor) const {
    rank.loader.reset();
    rank.loader =
        std::make_unique<Loader>(rank.stages.mix(), config_.batch, config_.train.seed, rank.index, dp_, cursor);
  }

  std::vector<GivenPair> pairs_of(const Block& block) const {
    std::vector<GivenPair> given;
    for (size_t k = 0; k < block.pairs.size(); ++k) {
      const EpochPair& p = block.pairs[k];
      const SyntheticCorpus& corpus = corpus_in(folder(p.corpus)).stored;
      const auto begin = block.source.begin() + block.source_offsets[k];
      const int64_t tokens = block.source_offsets[k + 1] - block.source_offsets[k] - 1;
      given.push_back({p, tokens - corpus.length(p.pair).source});  // a variant has as many tokens more
      const std::vector<int32_t> ids = corpus.pair(p.pair, given.back().variant).source;
      EXPECT_TRUE(std::equal(ids.begin(), ids.end(), begin)) << "pair " << p.pair << " of " << corpus.folder();
    }
    return given;
  }

  const RunConfig& config_;
  int dp_;
  std::vector<Rank> ranks_;
};

constexpr uint32_t kCases = 20;
constexpr size_t kMaxSteps = 80;  // of a run whose last stage has no end

std::vector<StagedStep> whole_run(StagedRanks& alone) {
  std::vector<StagedStep> steps;
  while (!alone.is_over() && steps.size() < kMaxSteps) steps.push_back(alone.step());
  return steps;
}

TEST(StagedStream, IsTheSameOnEveryGridAndAfterEveryStop) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(fmt::format("case {}", seed));
    RandomStages random(seed);
    StagedRanks alone(random.config(), 1);
    const std::vector<StagedStep> want = whole_run(alone);
    std::string saved;
    for (size_t done = 0; done < want.size();) {
      const auto dp = static_cast<int>(random.from(1, 6));
      StagedRanks moved(random.config(), dp, saved);
      for (int64_t steps = random.from(1, 40); steps > 0 && done < want.size(); --steps, ++done)
        ASSERT_EQ(moved.step(), want[done]) << "step " << done << ", dp " << dp;
      saved = moved.save();
    }
    ASSERT_EQ(saved, alone.save());
  }
}

// In any 1,000 pairs of a stage, or in all of them if there are fewer, each corpus is within a block of its share.
TEST(StagedStream, GivesEachCorpusItsShareInEveryStage) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(fmt::format("case {}", seed));
    const RandomStages random(seed);
    StagedRanks alone(random.config(), 1);
    const std::vector<Stage>& stages = alone.stages().stages();
    std::vector<std::vector<std::string>> streams(stages.size());  // the folder of each pair
    std::vector<int64_t> blocks(stages.size());
    for (const StagedStep& step : whole_run(alone))
      for (const auto& block : step.blocks) {
        ++blocks[step.stage];
        for (const GivenPair& p : block) streams[step.stage].push_back(alone.folder(p.corpus));
      }
    for (size_t s = 0; s < stages.size(); ++s) {
      const std::vector<std::string>& stream = streams[s];
      const size_t window = std::min<size_t>(1000, stream.size());
      const double block = static_cast<double>(stream.size()) / static_cast<double>(blocks[s]);
      int64_t weights = 0;
      for (const MixCorpus& corpus : stages[s].corpora) weights += corpus.weight;
      for (const MixCorpus& corpus : stages[s].corpora) {
        const double share =
            static_cast<double>(window) * static_cast<double>(corpus.weight) / static_cast<double>(weights);
        int64_t given = 0;
        for (size_t i = 0; i < stream.size(); ++i) {
          given += (stream[i] == corpus.folder) - (i >= window && stream[i - window] == corpus.folder);
          if (i + 1 >= window) {
            ASSERT_LE(std::abs(static_cast<double>(given) - share), block) << "stage " << s << ", pair " << i;
          }
        }
      }
    }
  }
}

// Checks all stages together. Given and pending pairs are the stream so far.
TEST(StagedStream, LosesAndDoublesNothingInAnEpochOfACorpus) {
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(fmt::format("case {}", seed));
    const RandomStages random(seed);
    StagedRanks alone(random.config(), 1);
    std::vector<std::map<int64_t, std::map<int64_t, int64_t>>> seen(all_corpora().size());  // epoch -> pair -> times
    std::map<int64_t, float> highest;  // least score of a corpus in any stage so far
    for (const StagedStep& step : whole_run(alone)) {
      const std::vector<MixCorpus>& mix = alone.stages().stages()[step.stage].corpora;
      for (const auto& block : step.blocks)
        for (const GivenPair& p : block) {
          const StreamCorpus& corpus = corpus_in(alone.folder(p.corpus));
          const auto part = std::ranges::find(mix, corpus.stored.folder(), &MixCorpus::folder);
          ASSERT_NE(part, mix.end()) << "corpus " << p.corpus << " of another stage";
          const float least = part->min_score.value_or(-1);
          ASSERT_GE(score_of_pair(p.pair), least);
          ASSERT_EQ(p.variant, VariantTurns(seed, p.corpus, corpus.num_variants).at(p.epoch));
          ASSERT_EQ(++seen.at(static_cast<size_t>(p.corpus))[p.epoch][p.pair], 1) << "pair " << p.pair;
          highest[p.corpus] = std::max(highest.try_emplace(p.corpus, -1.0f).first->second, least);
        }
    }
    for (int64_t k = 0; k < std::ssize(alone.corpora()); ++k) {
      int64_t begun = INT64_MAX;  // the epoch that no stream has left
      for (const auto& [stream, places] : alone.cursor().streams) {
        const Cursor place = k < std::ssize(places.corpora) ? places.corpora[static_cast<size_t>(k)] : Cursor();
        begun = std::min(begun, place.epoch);
        for (size_t i = 0; i < place.pending.size(); ++i) {
          const int64_t epoch = place.epochs.empty() ? place.epoch : place.epochs[i], pair = place.pending[i];
          ASSERT_EQ(++seen[static_cast<size_t>(k)][epoch][pair], 1) << "pair " << pair << " is given and pending";
        }
      }
      const StreamCorpus& corpus = corpus_in(alone.folder(k));
      for (int64_t epoch = 0; epoch < begun; ++epoch)
        for (int64_t pair = 0; pair < corpus.stored.num_pairs(); ++pair) {
          if (corpus.stored.length(pair).source >= kLongPair || score_of_pair(pair) < highest[k]) continue;
          ASSERT_EQ(seen[static_cast<size_t>(k)][epoch][pair], 1) << "pair " << pair << ", epoch " << epoch;
        }
    }
  }
}

}  // namespace
}  // namespace weft
