// tests/parity/double_model_test.cpp: the reference model in double equals PyTorch in f64: outputs, loss, and
// central differences compared with PyTorch's gradients.
#include "tests/support/definition/double_model.h"

#include <gtest/gtest.h>

#include "tests/parity/reference_cases.h"
#include "tests/support/compare.h"

namespace weft::testing {
namespace {

class PytorchDoubles : public ::testing::TestWithParam<ReferenceCase> {
 protected:
  PytorchDoubles()
      : file_(open(GetParam())), config_(config_of(file_)), weights_(parameters_of(file_, "weights", config_)) {}

  ReferenceFile file_;
  ModelConfig config_;
  DoubleParams weights_;
  Block block_ = block_of(file_);
};

void append(Doubles& all, const Matrix& rows) { all.insert(all.end(), rows.values.begin(), rows.values.end()); }

TEST_P(PytorchDoubles, HaveTheSameOutputsAndLoss) {
  constexpr double kTolerance = 1e-12;
  const DoubleModel model(config_, weights_);
  Doubles encoder_output, decoder_output, logits;
  const auto sentence = [](const std::vector<int32_t>& ids, const std::vector<int32_t>& offsets, size_t i) {
    return std::vector<int32_t>(ids.begin() + offsets[i], ids.begin() + offsets[i + 1]);
  };
  for (size_t i = 0; i + 1 < block_.source_offsets.size(); ++i) {
    const Matrix memory = model.encode(sentence(block_.source, block_.source_offsets, i), {});
    const Matrix output = model.decode(sentence(block_.target_in, block_.target_offsets, i), memory, {}, {});
    append(encoder_output, memory);
    append(decoder_output, output);
    append(logits, model.logits(output));
  }
  expect_close_in_norm(encoder_output, file_.numbers("encoder_output"), kTolerance, 0, "encoder's output");
  expect_close_in_norm(decoder_output, file_.numbers("decoder_output"), kTolerance, 0, "decoder's output");
  expect_close_in_norm(logits, file_.numbers("logits"), kTolerance, 0, "logits");
  expect_close_in_norm(Doubles{model.loss(block_, file_.number("smoothing"))}, file_.numbers("loss"), kTolerance, 0,
                       "loss");
}

// A few elements spread over every parameter, so that queries, keys and values all have some.
TEST_P(PytorchDoubles, DifferencesAreTheGradients) {
  constexpr double kStep = 1e-5;
  const DoubleModel model(config_, weights_);  // reads weights_ at each evaluation
  const double smoothing = file_.number("smoothing"), tokens = static_cast<double>(block_.target_tokens());
  model.loss(block_, smoothing);
  ASSERT_GT(model.layers().nearest_kink(), 10 * kStep) << "differences would cross a kink of relu";
  for (const auto& [name, gradient] : parameters_of(file_, "gradients", config_)) {
    Doubles differences, want;
    const size_t stride = std::max<size_t>(1, gradient.size() / 7);
    for (size_t i = 0; i < gradient.size(); i += stride) {
      double& w = weights_.at(name)[i];
      const double kept = w;
      w = kept + kStep;
      const double above = model.loss(block_, smoothing);
      w = kept - kStep;
      const double below = model.loss(block_, smoothing);
      w = kept;
      differences.push_back((above - below) / (2 * kStep) / tokens);
      want.push_back(gradient[i]);
    }
    expect_close_in_norm(differences, want, 1e-6, 0, ("gradient of " + name).c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, PytorchDoubles, ::testing::ValuesIn(kReferenceCases), name_of);

}  // namespace
}  // namespace weft::testing
