// tests/support/small_run.h: runs parts of a small training run, from checkpoint to checkpoint, on any grid
// and device, and compares them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/support/resolved.h"
#include "tests/support/run_device.h"
#include "tests/support/small_model.h"
#include "tests/support/text_corpus.h"
#include "trainer/config/config_text.h"
#include "trainer/stages/training_data.h"
#include "trainer/trainer.h"
#include "trainer/training_checkpoints.h"

namespace weft::testing {

inline RunConfig run_config(const TextCorpus& corpus) {
  RunConfig c;
  c.model.width = 32, c.model.heads = 4, c.model.feed_forward = 48, c.model.encoder_layers = c.model.decoder_layers = 2;
  c.model.dropout = 0.1;
  c.data.train = corpus.folder();
  c.batch.rows = 96, c.batch.blocks = 4, c.batch.page = 8, c.batch.window = 4;
  c.optimizer.clip_norm = 1, c.optimizer.weight_decay = 0.01;
  c.schedule.lr = 3e-3, c.schedule.warmup = 10;
  c.train.output = corpus.path() + "/run";
  c.train.precision = Precision::f32;
  use_test_device(c);
  return c;
}

struct Trained {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> params;
};

struct Part {  // of a run: from a checkpoint or the start, for some steps, to a checkpoint or nowhere
  int dp = 1, tp = 1, steps = 20;
  std::string from = "", to = "";
  Precision precision = Precision::f32;
  Device device = test_device();
  int64_t zero = 0;
  GradientType gradient_type = GradientType::f32;
  double clip_norm = 1;
  bool sequence = false;
  OptimizerKind optimizer = OptimizerKind::adam;
  bool decays = false;   // the rate, from step 3 to step 12
  std::string mix = "";  // data.train instead of the corpus
  std::string freeze = "";
  double ema = 0;
};

// A trainer and its data, as a run has them.
struct SmallRun {
  SmallRun(const RunConfig& resolved, const Mesh& mesh)
      : config_text(text_to_keep(resolved)),
        data(resolved, open_stages(resolved), mesh),
        trainer(resolved, mesh, data.stages().has_mixes()),
        checkpoints(resolved, mesh, trainer, data) {}

  StepReport step(double clock = 0) { return trainer.step(data, StopRequest::none, clock); }
  TrainState snapshot() const {
    TrainState state;
    checkpoints.snapshot(state);
    return state;
  }
  std::string save(const std::string& root, const TrainState& state) {  // returns its folder
    checkpoints.start_save(root, state, config_text);
    return checkpoints.saver().finish();
  }
  std::string save(const std::string& root) { return save(root, snapshot()); }
  void resume(const std::string& folder) {
    std::vector<std::string> changes;
    checkpoints.resume(folder, changes);
  }

  const std::string config_text;
  TrainingData data;
  Trainer trainer;
  TrainingCheckpoints checkpoints;
};

inline Trained train(const TextCorpus& corpus, const Part& part) {
  Trained result;
  run_thread_ranks(part.dp * part.tp, [&](Communicator& world) {
    RunConfig config = run_config(corpus);
    config.parallel = {.dp = part.dp,
                       .tp = part.tp,
                       .zero = part.zero,
                       .gradient_type = part.gradient_type,
                       .sequence = part.sequence};
    if (!part.mix.empty()) config.data.train = part.mix;
    config.optimizer.clip_norm = part.clip_norm;
    config.optimizer.kind = part.optimizer;
    if (part.optimizer == OptimizerKind::schedule_free) config.schedule.kind = ScheduleKind::constant;
    if (part.decays) {
      config.schedule.kind = ScheduleKind::wsd;
      config.schedule.warmup = 2, config.schedule.decay_steps = 12, config.schedule.decay_share = 0.75;
    }
    config.train.precision = part.precision;
    config.train.freeze = part.freeze;
    config.train.ema = part.ema;
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, rank_on(part.device, world));
    SmallRun run(config, mesh);
    Trainer& trainer = run.trainer;
    if (!part.from.empty()) run.resume(part.from);
    std::vector<double> losses;
    for (int i = 0; i < part.steps; ++i) losses.push_back(run.step().loss());
    if (!part.to.empty()) run.save(part.to);
    trainer.gather_weights();
    for (const FlatState& state : trainer.states())  // the weights that it trains with, where they are divided
      if ((state.kind == "model" || state.prefix == "schedule_free.y.") && state.gather) state.gather();
    auto params = gather(trainer.replica().context(), trainer.replica().params(), mesh.tp(), /*gradients=*/false);
    if (world.rank() == 0) result = {std::move(losses), std::move(params)};
  });
  return result;
}

// A constant added to all keys does not change the softmax, so the true gradient of a key bias is zero; Adam
// turns its rounding noise into full steps without effect on the loss. A grid must reproduce all other
// parameters.
inline bool is_key_bias(const std::string& name, size_t i, size_t numel) {
  if (name.ends_with(".qkv.bias")) return i >= numel / 3 && i < 2 * numel / 3;
  return name.ends_with(".kv.bias") && i < numel / 2;
}

inline double relative_error(const Trained& a, const Trained& b) {  // over all parameters together
  double difference = 0, norm = 0;
  for (const auto& [name, x] : b.params) {
    const std::vector<float>& y = a.params.at(name);
    for (size_t i = 0; i < x.size(); ++i) {
      if (is_key_bias(name, i, x.size())) continue;
      difference += std::pow(static_cast<double>(x[i]) - y[i], 2);
      norm += std::pow(static_cast<double>(x[i]), 2);
    }
  }
  return std::sqrt(difference / norm);
}

inline void expect_within(double band, const std::vector<double>& got, const std::vector<double>& want,
                          size_t first = 0) {
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[first + i], band * want[first + i]) << "step " << first + i;
}

inline void expect_equal_to_rounding(const Trained& a, const Trained& b, size_t first = 0) {
  expect_within(1e-5, a.losses, b.losses, first);
  EXPECT_LT(relative_error(a, b), 1e-4);
}

// Allowed difference of a step's loss in half precision from f32, and from another grid: four to five times
// the measured one.
inline constexpr double kBandToF32 = 0.005, kBandOfGrids = 0.002;

}  // namespace weft::testing
