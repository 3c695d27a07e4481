// tests/launch/commands/average_test.cpp: `weft average`: the mean of checkpoints' weights, which ones it chooses, and
// what it refuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "model/transformer.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/config/config_text.h"
#include "trainer/train_state.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

// A run with checkpoints of steps 10, 20, 30 and 40, whose weights are drawn with these seeds.
class Average : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const int64_t step : {10, 20, 30, 40}) save(run_, step, config());
    std::ofstream log(run_ + "/log.jsonl");
    for (const auto& [step, bleu] : {std::pair{10, 5.0}, {20, 9.0}, {25, 99.0}, {30, 7.0}, {40, 8.0}})
      log << nlohmann::json{{"step", step}, {"valid_loss", bleu}, {"bleu", bleu}} << "\n";
  }

  static RunConfig config() {
    RunConfig c;
    c.model = {.width = 16, .heads = 2, .feed_forward = 24, .encoder_layers = 1, .decoder_layers = 1};
    c.model.source_vocabulary = c.model.target_vocabulary = 40;
    c.parallel = {.dp = 1, .tp = 1};
    c.model.resolve(1);
    return c;
  }

  // Saves a checkpoint and, if `has_average`, an average, whose weights are drawn with the seed step + 1.
  static std::string save(const std::string& run, int64_t step, const RunConfig& config, bool has_average = false,
                          const std::string& tokenizer = "a tokenizer", const std::string& metric = "bleu") {
    ParamStore params(0, 1), average(0, 1);
    const Transformer model(config.model, params, /*num_positions=*/1), twin(config.model, average, 1);
    Context ctx;
    params.allocate();
    average.allocate();
    params.initialize(ctx, static_cast<uint64_t>(step));
    average.initialize(ctx, static_cast<uint64_t>(step + 1));
    std::vector<FlatState> states{{"model", "", params.values()}, {"optimizer", "adam.m.", params.values()}};
    if (has_average) states.emplace_back(kAverageKind, kAveragePrefix, average.values());
    const TrainState state{
        .step = step, .cursor = {.num_streams = 1, .streams = {{0, {}}}}, .best = {.metric = metric}};
    const auto alone = make_single_communicator();
    return save_checkpoint(ctx, run + "/checkpoints", Mesh(*alone, config.parallel),
                           {.step = step,
                            .params = params,
                            .buffers = states,
                            .state = state.to_json(),
                            .extras = {.config = to_cfg(config), .files = {{"tokenizer.model", tokenizer}}}});
  }

  static void average(std::vector<std::string> args) {
    args.emplace_back("--quiet");
    ::testing::internal::CaptureStdout();
    const auto end = [] { return ::testing::internal::GetCapturedStdout(); };
    try {
      run_average({.args = std::move(args)});
    } catch (...) {
      end();
      throw;
    }
    end();
  }
  std::string refusal(std::vector<std::string> args) const {
    args.insert(args.end(), {"--output", output_});
    const Error error = error_of([&] { average(args); });
    EXPECT_TRUE(error.frames().empty());  // one line
    return error.what();
  }

  // The averaged checkpoint has the mean of the weights of these seeds.
  void expect_mean_of(std::vector<int64_t> seeds, int64_t step) const {
    const std::string folder = resolve_checkpoint(output_);
    EXPECT_EQ(folder, output_ + "/" + fmt::format("step-{:08}", step));
    const SafetensorsFile file(folder + "/model.safetensors");
    Context ctx;
    std::map<std::string, std::vector<double>> means;
    for (const int64_t seed : seeds) {
      ParamStore params(0, 1);
      const Transformer model(config().model, params, /*num_positions=*/1);
      params.allocate();
      params.initialize(ctx, static_cast<uint64_t>(seed));
      for (const Param& p : params.params()) {
        std::vector<double>& mean = means[p.spec.name];
        mean.resize(static_cast<size_t>(p.numel()));
        for (size_t i = 0; i < mean.size(); ++i)
          mean[i] += static_cast<double>(p.value.ptr<float>()[i]) / static_cast<double>(seeds.size());
      }
    }
    ASSERT_EQ(file.entries().size(), means.size());
    for (const auto& [name, mean] : means) {
      std::vector<float> values(mean.size());
      file.read(name, values.data());
      for (size_t i = 0; i < mean.size(); ++i) ASSERT_FLOAT_EQ(values[i], static_cast<float>(mean[i])) << name;
    }
  }
  std::string step(int64_t n) const { return run_ + "/checkpoints/" + fmt::format("step-{:08}", n); }

  const TemporaryFolder folder_;
  const std::string run_ = folder_ / "run", output_ = folder_ / "averaged";
};

TEST_F(Average, OfTheLastCheckpoints) {
  average({run_, "--last", "3", "--output", output_});
  expect_mean_of({20, 30, 40}, 40);
  EXPECT_EQ(read_file(output_ + "/step-00000040/config.cfg"), read_file(step(40) + "/config.cfg"));
  EXPECT_EQ(read_file(output_ + "/step-00000040/tokenizer.model"), "a tokenizer");
}

TEST_F(Average, OfTheBestThatAreOnDisk) {
  average({run_, "--best", "2", "--output", output_});
  expect_mean_of({20, 40}, 40);
  EXPECT_TRUE(holds(refusal({run_, "--best", "5", "--force"}), "contains only 4 validated checkpoints"));
}

TEST_F(Average, OfTheBestByTheRuleOfTheRun) {
  write_file_atomically(run_ + "/log.jsonl", R"({"step":10,"valid_loss":1,"bleu":9,"dev.bleu":9,"news.bleu":1}
{"step":20,"valid_loss":1,"bleu":1,"dev.bleu":1,"news.bleu":9}
{"step":30,"valid_loss":1,"bleu":2,"dev.bleu":2,"news.bleu":8}
)");
  save(run_, 50, config(), /*has_average=*/false, "a tokenizer", "0.1*dev.bleu+0.9*news.bleu");
  average({run_, "--best", "2", "--output", output_});
  expect_mean_of({20, 30}, 30);
}

TEST_F(Average, OfNamedCheckpointsInAnyOrderIsTheSameFile) {
  average({step(10), step(30), step(20), "--output", output_});
  expect_mean_of({10, 20, 30}, 30);
  average({step(30), step(20), step(10), "--output", folder_ / "again"});
  EXPECT_EQ(read_file(output_ + "/step-00000030/model.safetensors"),
            read_file(folder_ / "again/step-00000030/model.safetensors"));
}

TEST_F(Average, TakesMovingAveragesUnlessRawWeightsAreWanted) {
  const std::string first = save(folder_ / "ema", 50, config(), /*has_average=*/true);
  const std::string second = save(folder_ / "ema", 60, config(), /*has_average=*/true);
  average({first, second, "--output", output_});
  expect_mean_of({51, 61}, 60);
  fs::remove_all(output_);
  average({first, second, "--raw-weights", "--output", output_});
  expect_mean_of({50, 60}, 60);
  EXPECT_TRUE(holds(refusal({run_, "--last", "2", "--raw-weights"}), "--raw-weights has no effect"));
}

TEST_F(Average, ReplacesOnlyAnAverageAndOnlyWhenForced) {
  average({run_, "--last", "2", "--output", output_});
  EXPECT_TRUE(holds(refusal({run_, "--last", "3"}), output_ + " already exists"));
  average({run_, "--last", "3", "--output", output_, "--force"});
  expect_mean_of({20, 30, 40}, 40);
  write_file_atomically(output_ + "/mine", "");
  EXPECT_TRUE(holds(refusal({run_, "--last", "2", "--force"}), "contains more than an average"));
  EXPECT_TRUE(fs::exists(output_ + "/mine"));
  const Error error = error_of([&] { average({run_, "--last", "2", "--force", "--output", run_ + "/checkpoints"}); });
  EXPECT_TRUE(holds(error.what(), "contains more than an average"));
  EXPECT_TRUE(fs::exists(step(10)));
  const Error named = error_of([&] {
    average({run_, "--last", "2", "--output", run_ + "/checkpoints/step-00000099"});
  });
  EXPECT_TRUE(holds(named.what(), "has a name reserved for checkpoints of runs"));
}

TEST_F(Average, ReplacesAnAverageWithoutTheFoldersBesideIt) {
  const std::string of_a_live_writer = output_ + ".tmp-" + std::to_string(getppid());
  for (const std::string& other : {output_ + ".new", of_a_live_writer, temporary_name(output_)}) {
    fs::create_directory(other);
    write_file_atomically(other + "/mine", "");
  }
  const FileDescriptor lock(open(of_a_live_writer.c_str(), O_RDONLY));
  ASSERT_EQ(flock(lock.get(), LOCK_EX), 0);
  average({run_, "--last", "2", "--output", output_});
  average({run_, "--last", "3", "--output", output_ + "/", "--force"});
  expect_mean_of({20, 30, 40}, 40);
  EXPECT_TRUE(fs::exists(output_ + ".new/mine"));
  EXPECT_TRUE(fs::exists(of_a_live_writer + "/mine"));
  EXPECT_FALSE(fs::exists(temporary_name(output_)));
}

TEST_F(Average, TakesAFolderWhereAKilledOneLeftItsDraft) {
  fs::create_directories(temporary_name(output_ + "/step-00000040"));
  average({run_, "--last", "3", "--output", output_});
  expect_mean_of({20, 30, 40}, 40);
  EXPECT_FALSE(fs::exists(temporary_name(output_ + "/step-00000040")));
}

TEST_F(Average, RefusesCheckpointsThatDoNotFitTogether) {
  RunConfig wider = config(), more_heads = config();
  wider.model.feed_forward = 26, more_heads.model.heads = more_heads.model.kv_heads = 4;
  EXPECT_TRUE(holds(refusal({step(10), save(folder_ / "wider", 50, wider)}),
                    "belong to different models: model.feed_forward is 24 and 26"));
  EXPECT_TRUE(holds(refusal({step(10), save(folder_ / "heads", 50, more_heads)}),
                    "belong to different models: model.heads is 2 and 4"));
  EXPECT_TRUE(holds(refusal({step(10), save(folder_ / "words", 50, config(), false, "another")}),
                    "contain different models: their files tokenizer.model differ"));
  EXPECT_TRUE(holds(refusal({step(10), step(10)}), "the checkpoint " + step(10) + " is given twice"));
  EXPECT_FALSE(fs::exists(output_));
}

TEST_F(Average, RefusesWhatIsMissingOrDamaged) {
  EXPECT_TRUE(holds(refusal({run_, "--last", "5"}), "contains only 4 checkpoints"));
  const TemporaryFolder empty;
  EXPECT_EQ(message_of(ErrorKind::checkpoint,
                       [&] {
                         run_average({.args = {empty.path(), "--last", "1", "--output", output_}});
                       }),
            empty.path() + " contains no checkpoint: give the folder of a run");
  EXPECT_TRUE(holds(refusal({run_, "--last", "0"}), "--last must be the number of checkpoints to average, at least 1"));
  EXPECT_TRUE(holds(refusal({step(10)}), "too few checkpoints: give at least two"));
  EXPECT_TRUE(holds(refusal({step(10), folder_ / "nothing"}), "there is no such folder"));
  std::string bytes = read_file(step(20) + "/model.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  write_file_atomically(step(20) + "/model.safetensors", bytes);
  EXPECT_TRUE(holds(refusal({step(10), step(20)}), step(20) + "/model.safetensors is damaged"));
  EXPECT_FALSE(fs::exists(output_));
}

}  // namespace
}  // namespace weft::testing
