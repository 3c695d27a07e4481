// tests/trainer/initial_values_test.cpp: train.init: a new run starts with another's parameters, on any grid.
#include "trainer/initial_values.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/run_device.h"
#include "tests/support/text_corpus.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/precision.h"
#include "trainer/run/run.h"

namespace weft::testing {
namespace {

constexpr char kModel[] = "/checkpoints/latest/model.safetensors";

class InitialValues : public ::testing::Test {
 protected:
  static const TextCorpus& corpus() {
    static const TextCorpus text(/*num_pairs=*/60);
    return text;
  }

  RunConfig config(const std::string& output) const {
    RunConfig c;
    c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 16;
    c.model.encoder_layers = c.model.decoder_layers = 1;
    c.data.train = corpus().folder();
    c.batch.rows = 64, c.batch.blocks = 2;
    c.train.output = folder_ / output;
    c.train.steps = 2;
    use_test_device(c);
    return c;
  }
  RunConfig still(const std::string& output) const {  // starts with the first run's parameters and never changes them
    RunConfig c = config(output);
    c.train.init = folder_ / "first", c.train.seed = 9;
    c.schedule.lr = 0, c.schedule.min_lr = 0;
    return c;
  }
  static void train(const RunConfig& c, int ranks = 1) {
    run_thread_ranks(ranks, [&](Communicator& world) {
      set_num_threads(1);
      run_training(c, world);
    });
  }
  static std::vector<nlohmann::json> steps_of(const RunConfig& c) {
    std::vector<nlohmann::json> log = read_event_log(c.train.output + "/log.jsonl");
    std::erase_if(log, [](const nlohmann::json& record) { return !record.contains("loss"); });
    return log;
  }
  static std::string refusal(const RunConfig& c, ErrorKind kind) {
    const Error error = error_of([&] { train(c); });
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_TRUE(error.frames().empty());  // one line
    EXPECT_TRUE(std::string(error.what()).starts_with("train.init: ")) << error.what();
    EXPECT_FALSE(std::filesystem::exists(c.train.output));
    return error.what();
  }

  const TemporaryFolder folder_;
};

TEST_F(InitialValues, AreTheOtherRunsParametersOnAnyGrid) {
  train(config("first"));
  for (const int64_t tp : {1, 2}) {
    RunConfig c = still(fmt::format("tp-{}", tp));
    c.parallel.tp = tp;
    train(c, static_cast<int>(tp));
    EXPECT_EQ(read_file(c.train.output + kModel), read_file(folder_ / "first" + kModel)) << tp;
    EXPECT_EQ(steps_of(c).front().at("step"), 1);  // a run of its own
  }
}

// The half-precision copies are also the other run's parameters, from the first step on.
TEST_F(InitialValues, AreWhatTheFirstStepInHalfPrecisionComputesWith) {
  RunConfig first = config("first");
  first.schedule.lr = 0.1, first.schedule.warmup = 0;  // far from initial values
  train(first);
  const auto loss = [&](Precision precision) {
    RunConfig c = still(name_of(storage_of(precision)));
    c.train.precision = precision;
    train(c);
    return steps_of(c).front().at("loss").get<double>();
  };
  const double expected = loss(Precision::f32);
  EXPECT_NEAR(loss(Precision::bf16), expected, 0.01 * expected);
  EXPECT_NEAR(loss(Precision::f16), expected, 0.01 * expected);
}

TEST_F(InitialValues, DoNotCountWhenTheRunResumes) {
  train(config("first"));
  RunConfig c = config("second");
  c.train.init = folder_ / "first";
  train(c);
  c.train.steps = 3, c.train.init = folder_ / "no-such-run";
  ::testing::internal::CaptureStderr();
  train(c);
  EXPECT_TRUE(holds(::testing::internal::GetCapturedStderr(), "train.init = " + c.train.init + " has no effect"));
  EXPECT_EQ(steps_of(c).size(), 3u);
}

TEST_F(InitialValues, OfAnotherModelAreRefused) {
  train(config("first"));
  RunConfig c = still("second");
  c.model.activation = FeedForwardActivation::gelu;
  EXPECT_TRUE(holds(refusal(c, ErrorKind::usage), "model.activation = relu, but this run has gelu"));
  c = still("third");
  c.model.feed_forward = 18;
  EXPECT_TRUE(holds(refusal(c, ErrorKind::usage), "model.feed_forward = 16, but this run has 18"));
  c = still("third");
  c.model.heads = 4;  // the same shapes
  EXPECT_TRUE(holds(refusal(c, ErrorKind::usage), "model.heads = 2, but this run has 4"));
  c = still("third");
  c.model.kv_heads = 1;
  EXPECT_TRUE(holds(refusal(c, ErrorKind::checkpoint),
                    "tensor 'decoder.0.self_attention.qkv.bias' is not in this model, so the checkpoint is for a "
                    "different model"));
}

TEST_F(InitialValues, ThatAreNoCheckpointAreRefused) {
  RunConfig c = still("second");
  std::filesystem::create_directories(folder_ / "empty/step-00000001");
  write_file_atomically(folder_ / "file", "no checkpoint");
  const std::pair<const char*, const char*> cases[] = {
      {"no-such-run", "no-such-run is not a checkpoint: there is no such folder"},
      {"file", "file is not a checkpoint: it is not a folder"},
      {"second", "second is not a checkpoint: there is no such folder"},  // the run itself, which has not begun
      {"empty/step-00000001", "empty/step-00000001/MANIFEST.json: No such file or directory"}};
  for (const auto& [init, said] : cases) {
    c.train.init = folder_ / init;
    EXPECT_TRUE(holds(refusal(c, ErrorKind::checkpoint), said)) << init;
  }
  std::filesystem::remove(folder_ / "empty/step-00000001");
  c.train.init = folder_ / "empty";
  EXPECT_TRUE(holds(refusal(c, ErrorKind::checkpoint), "empty contains no checkpoint"));
}

TEST_F(InitialValues, OfTheRunItselfRestartIt) {
  train(config("first"));
  const std::string before = read_file(folder_ / "first" + kModel);
  RunConfig c = still("first");
  c.train.fresh = true;
  train(c);
  EXPECT_EQ(read_file(folder_ / "first" + kModel), before);
  EXPECT_EQ(steps_of(c).size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "first/checkpoints.old/step-00000002"));
}

TEST_F(InitialValues, ThatAreRefusedSetNoOlderRunAside) {
  train(config("first"));
  RunConfig c = still("first");
  c.train.fresh = true, c.train.init = folder_ / "no-such-run";
  EXPECT_THROW(train(c), Error);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "first" + kModel));
}

TEST_F(InitialValues, OfAnotherTokenizerAreRefused) {
  train(config("first"));
  const TextCorpus other(/*num_pairs=*/70, /*vocabulary=*/290, /*seed=*/5);
  RunConfig c = still("second");
  c.data.train = other.folder();
  EXPECT_TRUE(holds(refusal(c, ErrorKind::usage), "was not packed with the tokenizer "));
}

}  // namespace
}  // namespace weft::testing
