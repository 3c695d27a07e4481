// tests/trainer/run/resumed_run_test.cpp: runs that are stopped after random steps and resumed, on the same grid or on
// others, train as one that nobody stopped: with epochs' ends, stages, validations, patience, in every precision, by
// every optimizer.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "data/atomic_file.h"
#include "tests/support/run_device.h"
#include "tests/support/text_corpus.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/run/run.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

struct Grid {
  int dp, tp;
};
constexpr Grid kGrids[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}};

size_t lines_of(const std::string& path) {
  std::ifstream file(path);
  return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

// Sends the process SIGTERM once a run's log has so many lines.
class StopAfter {
 public:
  StopAfter(const std::string& log, size_t lines)
      : thread_([this, log, lines] {
          while (!over_ && lines_of(log) < lines) std::this_thread::yield();
          if (!over_) std::raise(SIGTERM);
        }) {}
  ~StopAfter() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class ResumedRun : public ::testing::TestWithParam<int> {  // a seed
 protected:
  ResumedRun() : random_(static_cast<uint32_t>(GetParam())), before_(std::signal(SIGTERM, SIG_IGN)) {}
  ~ResumedRun() override { std::signal(SIGTERM, before_); }

  size_t below(size_t n) { return random_() % n; }
  template <typename T, size_t N>
  T one_of(const T (&values)[N]) {
    return values[below(N)];
  }

  RunConfig random_config() {
    static const TextCorpus sixty_pairs(/*num_pairs=*/60);
    RunConfig c;
    c.model.width = 16, c.model.heads = 4, c.model.feed_forward = 16;
    c.model.encoder_layers = c.model.decoder_layers = 1;
    c.data.valid = sixty_pairs.folder();
    c.batch.rows = 64, c.batch.blocks = 4, c.batch.page = 2, c.batch.window = 4;
    c.schedule.lr = one_of({1e-3, 1e-2}), c.schedule.warmup = all_or_few(5, 2);
    c.train.precision = one_of({Precision::f32, Precision::bf16, Precision::f16});
    c.train.steps = all_or_few(24, 6);
    c.train.validate_every = one_of<int64_t>({2, 3, 5}), c.train.save_every = one_of<int64_t>({0, 2, 7});
    c.train.patience = one_of<int64_t>({0, 2}), c.train.keep_last = 1;
    c.train.keep_best = "loss", c.train.validate_bleu = 0;
    use_optimizer(c);
    if (below(2) == 0) {
      c.data.valid = fmt::format("dev={},again={}", sixty_pairs.folder(), sixty_pairs.folder());
      c.train.keep_best = "0.5*dev.loss+0.5*again.loss";
    }
    use_test_device(c);
    use_corpora(c, sixty_pairs);
    return c;
  }

  void use_optimizer(RunConfig& c) {
    const auto kinds = enum_names(OptimizerKind{});
    c.optimizer.kind = kinds[below(kinds.size())].second;
    const bool is_free = c.optimizer.kind == OptimizerKind::schedule_free;
    c.schedule.kind = is_free ? ScheduleKind::constant : one_of({ScheduleKind::inverse_sqrt, ScheduleKind::wsd});
    if (!is_free) c.train.ema = one_of({0.0, 0.9});
    if (c.optimizer.kind != OptimizerKind::muon) c.parallel.zero = one_of<int64_t>({0, 1});
  }

  // One corpus, a mix, or stages of corpora of very different size, with or without weights, scores and variants.
  void use_corpora(RunConfig& c, const TextCorpus& plain) {
    static const TextCorpus rich(
        60, 290, /*seed=*/4, plain.folder(),
        {.weight = [](int i) { return 0.5 * (i % 4); }, .score = [](int i) { return i % 5; }, .variants = 3});
    static const TextCorpus small(/*num_pairs=*/9, 290, /*seed=*/2, plain.folder(),
                                  {.weight = {}, .score = {}, .variants = 2}),
        tiny(/*num_pairs=*/2, 290, /*seed=*/3, plain.folder());
    const bool is_rich = below(3) > 0;
    const TextCorpus& large = is_rich ? rich : plain;
    const auto least = [&](int score) { return is_rich ? fmt::format("{}:{}", large.folder(), score) : ""; };
    const auto mix = [&](const char* weights) {
      return fmt::format("{}:{},{}:{},{}:{}", large.folder(), weights[0], small.folder(), weights[1], tiny.folder(),
                         weights[2]);
    };
    const int kind = (GetParam() + 2) % 3;
    if (kind < 2) {
      c.data.train = kind == 0 ? large.folder() : mix("631");
      if (below(2) == 0) c.data.min_score = least(2);
      return;
    }
    c.stages = {{.name = "begin", .mix = large.folder() + ":3," + small.folder() + ":1", .steps = 2},
                {.name = "tokens", .mix = mix("111"), .min_score = least(3), .tokens = one_of<int64_t>({1, 700, 2000})},
                {.name = "epochs", .mix = small.folder() + "," + tiny.folder(), .epochs = tiny.folder() + ":5"},
                {.name = "end", .mix = mix("139"), .min_score = least(1)}};
    for (const size_t i : {size_t{1}, size_t{3}}) {
      c.stages[i].has_schedule = below(2) == 1;
      c.stages[i].schedule.kind = c.schedule.kind, c.stages[i].schedule.warmup = 3;
    }
  }

  static void start(RunConfig c, const Grid& grid) {
    c.parallel.dp = grid.dp, c.parallel.tp = grid.tp;
    run_thread_ranks(grid.dp * grid.tp, [&](Communicator& world) {
      set_num_threads(1);
      run_training(c, world);
    });
  }

  // Stops the run again and again until it is finished. Returns the number of stops.
  template <typename NextGrid>
  int start_with_stops(const RunConfig& c, const NextGrid& next_grid) {
    const std::string log = c.train.output + "/log.jsonl";
    for (int stops = 0;; ++stops) {
      const StopAfter stop(log, lines_of(log) + 1 + below(8));
      start(c, next_grid());
      if (fs::exists(c.train.output + "/finished")) return stops;
    }
  }

  const TemporaryFolder folder_;

 private:
  std::mt19937 random_;
  void (*before_)(int);
};

nlohmann::json without_times(nlohmann::json record) {
  for (const char* field : {"seconds", "mfu", "roofline", "slowest_rank", "waiting", "time"}) record.erase(field);
  return record;
}

std::vector<nlohmann::json> log_of(const RunConfig& c) {
  std::vector<nlohmann::json> records;
  for (const auto& record : read_event_log(c.train.output + "/log.jsonl"))
    if (!record.contains("schema")) records.push_back(without_times(record));  // a start
  return records;
}

// Returns the files of the final model, including the average if there is one.
std::string final_model(const RunConfig& c) {
  const std::string folder = c.train.output + "/checkpoints/latest", average = folder + "/average.safetensors";
  EXPECT_EQ(fs::exists(average), c.train.ema > 0);
  return read_file(folder + "/model.safetensors") + (c.train.ema > 0 ? read_file(average) : "");
}

// Expects equal values, or numbers that are close to each other.
void expect_near(const nlohmann::json& got, const nlohmann::json& want, double band, const nlohmann::json& record) {
  if (!want.is_number() || !got.is_number()) {
    EXPECT_EQ(got, want) << record;
    return;
  }
  EXPECT_NEAR(got.get<double>(), want.get<double>(), band * want.get<double>()) << record;
}

TEST_P(ResumedRun, OnItsGridIsBitEqualToOneThatWasNotStopped) {
  RunConfig whole = random_config();
  whole.train.output = folder_ / "whole";
  RunConfig stopped = whole;
  stopped.train.output = folder_ / "stopped";
  const Grid grid = one_of(kGrids);
  SCOPED_TRACE(fmt::format("dp {} x tp {}", grid.dp, grid.tp));
  start(whole, grid);
  const int stops = start_with_stops(stopped, [&] { return grid; });
  EXPECT_EQ(log_of(stopped), log_of(whole)) << stops << " stops";
  EXPECT_EQ(final_model(stopped), final_model(whole));
}

TEST_P(ResumedRun, OnOtherGridsEqualsItUpToRounding) {
  RunConfig whole = random_config();
  whole.train.output = folder_ / "whole";
  RunConfig stopped = whole;
  stopped.train.output = folder_ / "stopped";
  start(whole, {.dp = 1, .tp = 1});
  start_with_stops(stopped, [&] { return one_of(kGrids); });
  const std::vector<nlohmann::json> want = log_of(whole), got = log_of(stopped);
  ASSERT_EQ(got.size(), want.size());
  const double band = whole.train.precision == Precision::f32 ? 1e-5 : 2e-3;
  for (size_t i = 0; i < want.size(); ++i) {
    for (const char* field : {"step", "stage", "epoch", "epochs", "target_tokens"})  // of the data
      EXPECT_EQ(got[i].value(field, nlohmann::json()), want[i].value(field, nlohmann::json())) << got[i];
    for (const char* field : {"loss", "nll", "lr", "valid_loss", "again.loss"})
      expect_near(got[i].value(field, nlohmann::json()), want[i].value(field, nlohmann::json()), band, got[i]);
    const nlohmann::json none = nlohmann::json::object();
    const nlohmann::json of_got = got[i].value("corpus_nll", none), of_want = want[i].value("corpus_nll", none);
    ASSERT_EQ(of_got.size(), of_want.size()) << got[i];
    for (const auto& [folder, nll] : of_want.items()) expect_near(of_got.at(folder), nll, band, got[i]);
  }
}

// These seeds draw every optimizer, wsd, an average, every precision, one corpus, a mix and stages.
constexpr int kFirstSeed = 417;
INSTANTIATE_TEST_SUITE_P(Seeds, ResumedRun, ::testing::Range(kFirstSeed, kFirstSeed + all_or_few(4, 1)));

}  // namespace
}  // namespace weft::testing
