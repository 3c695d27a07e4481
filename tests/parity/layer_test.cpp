// tests/parity/layer_test.cpp: one encoder and one decoder block, of width 4 with 2 heads, equal PyTorch's layers:
// outputs, gradients of the inputs and of every parameter.
#include <gtest/gtest.h>

#include "model/block.h"
#include "tests/parity/reference_model.h"
#include "tests/support/compare.h"
#include "tests/support/sequence_ranges.h"

namespace weft::testing {
namespace {

class PytorchLayer : public ::testing::TestWithParam<const char*> {
 protected:
  PytorchLayer()
      : file_("layers.h5", GetParam()), config_(config_of(file_)), params_(0, 1, DType::f32, test_device()) {}

  void set_up(const std::string& prefix) {  // after the block is declared
    params_.allocate();
    put(ctx_, parameters_of(file_, "weights", config_, prefix), params_);
  }
  Tensor rows(const std::string& dataset) {
    const Doubles values = file_.numbers(dataset);
    const Tensor t = arena_.tensor({static_cast<int64_t>(values.size()) / config_.width, config_.width});
    put(ctx_, std::vector<float>(values.begin(), values.end()), t);
    return t;
  }
  Sequences sequences(const std::string& lengths, const std::string& key_lengths) {
    const SentenceRows sentences = sentences_of(lengths);
    const auto ints = [&](const std::vector<int32_t>& values) { return upload(pass_, values); };
    return {.rows = sequence_ranges(sentences, sentences.back().second, sentences_of(key_lengths), ints)};
  }
  SentenceRows sentences_of(const std::string& lengths) {
    SentenceRows sentences;
    int32_t row = 0;
    for (const int32_t length : file_.integers(lengths)) sentences.emplace_back(row, row + length), row += length;
    return sentences;
  }
  void expect_same(const Tensor& got, const std::string& dataset) {
    expect_close_in_norm(to_host<float>(ctx_, got), file_.numbers(dataset), kTolerance, 0, dataset.c_str());
  }
  void expect_same_gradients(const std::string& prefix) {
    const auto want = parameters_of(file_, "gradients", config_, prefix);
    ASSERT_EQ(params_.params().size(), want.size());
    for (const auto& [name, gradient] : want) {
      const std::vector<float> got = to_host<float>(ctx_, params_.find(name)->grad);
      expect_close_in_norm(got, gradient, kTolerance, 0, ("gradient of " + name).c_str());
    }
  }

  ReferenceFile file_;
  ModelConfig config_;
  ParamStore params_;
  Context ctx_{test_device()};
  Arena arena_{1 << 20, test_device()};
  std::unique_ptr<Communicator> world_ = make_single_communicator();
  TensorParallel tp_{*world_};
  Pass pass_{.ctx = ctx_, .arena = arena_, .tp = tp_, .training = true};
};

TEST_P(PytorchLayer, EncoderLayerIsTheSame) {
  const EncoderBlock block(params_, "encoder.0", config_);
  set_up("encoder.layers.0.");
  const Tensor x = rows("encoder/x"), y = arena_.like(x), d = rows("encoder/d_y");
  const Sequences source = sequences("source_lengths", "source_lengths");
  EncoderBlock::Saved saved;
  block.forward(pass_, x, source, y, &saved);
  expect_same(y, "encoder/y");
  block.backward(pass_, d, source, saved);
  expect_same(d, "encoder/d_x");
  expect_same_gradients("encoder.layers.0.");
}

TEST_P(PytorchLayer, DecoderLayerIsTheSame) {
  const DecoderBlock block(params_, "decoder.0", config_);
  set_up("decoder.layers.0.");
  const Tensor x = rows("decoder/x"), memory = rows("decoder/memory"), y = arena_.like(x), d = rows("decoder/d_y");
  const Tensor d_memory = arena_.like(memory);
  const Sequences source = sequences("source_lengths", "source_lengths");
  const Sequences target = sequences("target_lengths", "source_lengths");
  DecoderBlock::Saved saved;
  block.forward(pass_, x, memory, {target, source}, y, &saved);
  expect_same(y, "decoder/y");
  ops::fill(ctx_, {.x = d_memory});
  block.backward(pass_, d, {target, source}, saved, d_memory);
  expect_same(d, "decoder/d_x");
  expect_same(d_memory, "decoder/d_memory");
  expect_same_gradients("decoder.layers.0.");
}

INSTANTIATE_TEST_SUITE_P(Cases, PytorchLayer, ::testing::Values("post_relu", "pre_gelu"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace weft::testing
