// tests/trainer/inference/translation_fixture.h: a small random model with a real tokenizer, on any grid of thread
// ranks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/subword/train_tokenizer.h"
#include "data/tokenizer.h"
#include "tests/support/device_group.h"
#include "tests/support/temporary_folder.h"
#include "trainer/replica.h"

namespace weft::testing {

inline std::vector<std::string> sample_lines(int count) {
  const std::vector<std::string> words{"the",  "house", "tree", "of", "a",    "small", "green", "river",
                                       "runs", "under", "with", "is", "over", "stone", "bird",  "sings"};
  std::vector<std::string> lines;
  uint32_t state = 12345;
  for (int i = 0; i < count; ++i) {
    std::string line;
    const uint32_t length = 1 + static_cast<uint32_t>(i) * 7 % 12;
    for (uint32_t k = 0; k < length; ++k) {
      state = state * 1664525 + 1013904223;
      line += (k ? " " : "") + words[state >> 28];
    }
    lines.push_back(line);
  }
  return lines;
}

inline std::string write_tokenizer(const std::string& path) {
  write_file_atomically(path, train_tokenizer(sample_lines(400), {.vocab_size = 310}));
  return path;
}

class TokenizerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    tokenizer_ = new Tokenizer(write_tokenizer(*folder_ / "tokenizer.model"));
  }
  static void TearDownTestSuite() {
    delete tokenizer_;
    delete folder_;
  }
  static inline TemporaryFolder* folder_ = nullptr;
  static inline Tokenizer* tokenizer_ = nullptr;
};

inline ModelConfig small_model_config(int64_t vocabulary) {
  ModelConfig c{.width = 16, .heads = 2, .feed_forward = 24, .encoder_layers = 1, .decoder_layers = 1};
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.dropout = 0;
  return c;
}

inline RunConfig run_config_of(ModelConfig model, const Mesh& mesh) {
  model.resolve(mesh.tp().size());
  RunConfig c{.model = model};
  c.parallel.communication = mesh.device() == Device::cpu ? Communication::automatic : test_communication();
  return c;
}

struct RandomModel {  // one rank's
  RandomModel(const ModelConfig& config, const Mesh& mesh, int64_t max_positions = 200, DType compute = DType::f32,
              ParamUse use = ParamUse::training)
      : replica(run_config_of(config, mesh), mesh, compute, max_positions, use) {
    params.initialize(ctx, /*seed=*/11);
    change(ctx, params.values(), [](std::vector<float>& values) {
      for (float& x : values) x *= 2;  // for clearly different predictions
    });
  }
  Replica replica;
  Context& ctx = replica.context();
  const TensorParallel& tp = replica.tp();
  ParamStore& params = replica.params();
  const Transformer& model = replica.model();
};

// Runs `body` on each rank of a dp x tp grid, each on one core: the models are small.
inline void on_grid(int dp, int tp, const std::function<void(const Mesh&)>& body) {
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    set_num_threads(1);
    body(Mesh(world, {.dp = dp, .tp = tp}, test_rank(world)));
  });
}

}  // namespace weft::testing
