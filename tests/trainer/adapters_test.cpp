// tests/trainer/adapters_test.cpp: runs with lora.rank train and store only adapters, and every reader of checkpoints
// merges them into the model that they adapt.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tests/support/compare.h"
#include "tests/support/errors.h"
#include "tests/support/run_device.h"
#include "tests/support/text_corpus.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/checkpoint/average.h"
#include "trainer/checkpoint/model_checkpoint.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/config/config_text.h"
#include "trainer/run/run.h"
#include "trainer/train_state.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

using Model = std::map<std::string, std::vector<float>>;

Model model_of(const std::string& folder, StoredWeights which = StoredWeights::training) {
  const StoredModel stored(folder, which);
  Model model;
  for (const auto& [name, shape] : stored.shapes()) {
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    model[name].resize(static_cast<size_t>(count));
    stored.read(name, model[name].data());
  }
  return model;
}

class Adapters : public ::testing::Test {
 protected:
  static const TextCorpus& corpus() {
    static const TextCorpus text(/*num_pairs=*/60);
    return text;
  }

  void SetUp() override { train(config("base")); }

  RunConfig config(const std::string& output) const {
    RunConfig c;
    c.model.width = 16, c.model.heads = 4, c.model.feed_forward = 16, c.model.dropout = 0;
    c.model.encoder_layers = c.model.decoder_layers = 1;
    c.data.train = c.data.valid = corpus().folder();
    c.batch.rows = 64, c.batch.blocks = 2, c.train.precision = Precision::f32;
    c.train.output = folder_ / output;
    c.train.steps = 2, c.train.validate_bleu = 0, c.train.keep_best = "loss", c.train.tensorboard = false;
    c.schedule.lr = 0.01, c.schedule.warmup = 0, c.schedule.kind = ScheduleKind::constant;
    use_test_device(c);
    return c;
  }
  RunConfig adapting(const std::string& output) const {
    RunConfig c = config(output);
    c.train.init = folder_ / "base";
    c.model.lora = {.rank = 2, .alpha = 3, .targets = "q,k,v,out,up,down"};
    c.train.steps = 4;
    return c;
  }
  static void train(const RunConfig& c) {
    run_thread_ranks(static_cast<int>(std::max<int64_t>(c.parallel.dp, 1) * c.parallel.tp), [&](Communicator& world) {
      set_num_threads(1);
      run_training(c, world);
    });
  }
  static std::string last(const RunConfig& c) {
    return c.train.output + fmt::format("/checkpoints/step-{:08}", c.train.steps);
  }
  static double last_number(const RunConfig& c, const char* key) {
    double last = 0;
    for (const nlohmann::json& record : read_event_log(c.train.output + "/log.jsonl")) last = record.value(key, last);
    return last;
  }

  const TemporaryFolder folder_;
};

TEST_F(Adapters, ChangeOnlyWhatTheyAdaptAndTheSameOnEveryGrid) {
  const RunConfig one = adapting("one");
  train(one);
  const Model base = model_of(folder_ / "base/checkpoints/step-00000002"), adapted = model_of(last(one));
  for (const auto& [name, values] : base) {
    const bool is_matrix = name.ends_with(".weight") && !name.ends_with("norm.weight") && name != "embedding.weight";
    EXPECT_EQ(adapted.at(name) != values, is_matrix) << name;
  }
  EXPECT_EQ(adapted.size(), base.size());
  for (const auto& [dp, tp, zero, sequence] :
       {std::tuple{2, 1, 0, false}, {1, 2, 0, false}, {2, 2, 1, false}, {1, 2, 0, true}}) {
    RunConfig c = adapting(fmt::format("{}x{}x{}{}", dp, tp, zero, sequence));
    c.parallel.dp = dp, c.parallel.tp = tp, c.parallel.zero = zero, c.parallel.sequence = sequence;
    train(c);
    for (const auto& [name, values] : model_of(last(c)))
      for (size_t i = 0; i < values.size(); ++i)
        ASSERT_NEAR(values[i], adapted.at(name)[i], 2e-5) << name << c.train.output;
  }
}

TEST_F(Adapters, ResumeBitByBitWithTheBaseOfTheirRun) {
  const RunConfig whole = adapting("whole");
  RunConfig half = adapting("half");
  train(whole);
  half.train.steps = 2;
  train(half);
  fs::rename(folder_ / "base", folder_ / "moved");
  half.train.steps = 4;
  train(half);
  for (const char* file : {"/model.safetensors", "/optimizer.safetensors"})
    EXPECT_EQ(read_file(last(half) + file), read_file(last(whole) + file));
  EXPECT_EQ(model_of(last(half)), model_of(last(whole)));
}

TEST_F(Adapters, AreStoredAlone) {
  RunConfig c = adapting("adapters");
  c.train.ema = 0.5;
  train(c);
  for (const char* file : {"/model.safetensors", "/average.safetensors", "/optimizer.safetensors"}) {
    const SafetensorsFile stored(last(c) + file);
    for (const auto& [name, entry] : stored.entries())
      EXPECT_TRUE(name.ends_with(".lora_a") || name.ends_with(".lora_b")) << name;
  }
  EXPECT_NE(model_of(last(c), StoredWeights::evaluation), model_of(last(c)));
}

// The validation loss of a run with adapters is that of the merged model.
TEST_F(Adapters, AreMergedByAnAverage) {
  const RunConfig c = adapting("adapters");
  train(c);
  TrainState state;
  state.step = c.train.steps;
  average_checkpoints({last(c)}, StoredWeights::evaluation, folder_ / "merged",
                      {.state = state.to_json(), .config = text_to_keep(config("merged"))});
  RunConfig next = config("next");
  next.train.init = folder_ / "merged", next.schedule.lr = 0;
  train(next);
  EXPECT_NEAR(last_number(next, "valid_loss"), last_number(c, "valid_loss"), 1e-5);
  EXPECT_GT(std::abs(last_number(config("base"), "valid_loss") - last_number(c, "valid_loss")), 0.01);
}

TEST_F(Adapters, NeedTheModelThatTheyAdapt) {
  const RunConfig c = adapting("adapters");
  train(c);
  RunConfig next = config("next");
  next.train.init = folder_ / "adapters";
  expect_error([&] { train(next); }, ErrorKind::usage,
               {"contains adapters: merge them into their model with `weft average"});
  const std::string base = folder_ / "adapters/checkpoints/base";
  fs::rename(base, base + ".old");
  expect_error([&] { model_of(last(c)); }, ErrorKind::checkpoint,
               {"contains only adapters, and the model that they adapt is not in"});
  fs::create_directory(base);
  RunConfig other = config("other");
  other.train.seed = 2;
  train(other);
  fs::rename(folder_ / "other/checkpoints/step-00000002", base + "/step-00000002");
  expect_error([&] { model_of(last(c)); }, ErrorKind::checkpoint, {"is not the model that the adapters in"});
}

TEST_F(Adapters, ResumeWithShardsAsWithoutThem) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    const auto sharded = [&](const std::string& name) {
      RunConfig c = adapting(name + name_of_enum(precision));
      c.parallel.dp = 2, c.parallel.zero = 1, c.train.precision = precision, c.train.ema = 0.5;
      return c;
    };
    const RunConfig whole = sharded("whole");
    RunConfig half = sharded("half");
    train(whole);
    half.train.steps = 2;
    train(half);
    half.train.steps = 4;
    train(half);
    for (const char* file : {"/model.safetensors", "/optimizer.safetensors", "/average.safetensors"})
      EXPECT_EQ(read_file(last(half) + file), read_file(last(whole) + file)) << file;
  }
}

TEST_F(Adapters, OfAnotherShapeOrNameAreRefused) {
  const RunConfig c = adapting("adapters");
  train(c);
  const std::string folder = last(c);
  const auto expect_refused = [&](std::map<std::string, std::vector<int64_t>> shapes) {
    const nlohmann::json state = read_checkpoint_state(folder);
    fs::remove_all(folder_ / "adapters/checkpoints/step-00000009");
    write_model_checkpoint(folder_ / "adapters/checkpoints",
                           {.step = 9,
                            .shapes = shapes,
                            .read =
                                [&](const std::string& name, const ModelCheckpoint::Put& put) {
                                  int64_t count = 1;
                                  for (const int64_t dim : shapes.at(name)) count *= dim;
                                  const std::vector<float> zeros(static_cast<size_t>(count));
                                  put(zeros.data(), count);
                                },
                            .state = {{"step", 9}, {"adapters", state.at("adapters")}},
                            .config = "",
                            .tokenizers = {}});
    expect_error([&] { model_of(folder_ / "adapters/checkpoints/step-00000009"); }, ErrorKind::checkpoint, {});
  };
  const std::string up = "encoder.0.feed_forward.up", qkv = "encoder.0.self_attention.qkv";
  expect_refused({{up + ".lora_a", {0, 16}}, {up + ".lora_b", {16, 0}}});
  expect_refused({{up + ".lora_a", {0}}, {up + ".lora_b", {0}}});
  expect_refused({{up + ".lora_a", {2, 16}}, {up + ".lora_b", {}}});
  expect_refused({{up + ".lora_a", {2, 64}}, {up + ".lora_b", {4, 2}}});
  expect_refused({{qkv + ".kv.lora_a", {2, 16}}, {qkv + ".kv.lora_b", {4, 4, 2}}});
  expect_refused({{qkv + "..lora_a", {2, 16}}, {qkv + "..lora_b", {4, 4, 2}}});
  expect_refused({{"lora_a", {2, 16}}, {".lora_a", {2, 16}}});
  expect_refused({});
}

TEST_F(Adapters, RefuseOptionsWithoutEffect) {
  RunConfig c = adapting("adapters");
  c.train.init = "";
  expect_error([&] { train(c); }, ErrorKind::usage, {"lora.rank trains only adapters of an existing model"});
  c = adapting("adapters");
  c.train.freeze = "encoder.*";
  expect_error([&] { train(c); }, ErrorKind::usage, {"train.freeze = encoder.* has no effect with lora.rank = 2"});
  c = adapting("adapters");
  c.model.lora.rank = 0;
  expect_error([&] { train(c); }, ErrorKind::usage, {"lora.alpha has no effect without lora.rank"});
  c = config("adapters");
  c.model.lora.targets = "k";
  expect_error([&] { train(c); }, ErrorKind::usage, {"lora.targets has no effect without lora.rank"});
  c = adapting("adapters");
  c.train.output = c.train.init, c.train.fresh = true;
  expect_error([&] { train(c); }, ErrorKind::usage, {"is in train.output, which train.fresh renames"});
  c = adapting("adapters");
  c.model.lora.targets = "q,w";
  expect_error([&] { train(c); }, ErrorKind::usage,
               {"lora.targets = 'q,w' is not valid: give some of q,k,v,out,up,down"});
}

}  // namespace
}  // namespace weft::testing
