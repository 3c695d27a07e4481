// tests/support/definition/double_gradients.h: compares the f32 backward of a part of the model, on the device under
// test, with central differences of its definition in double, for every parameter and input.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/parameters/param_store.h"
#include "model/pass.h"
#include "tensor/device_scalars.h"
#include "tests/support/compare.h"
#include "tests/support/definition/double_model.h"
#include "tests/support/device.h"
#include "tests/support/sequence_ranges.h"

namespace weft::testing {

struct Lengths {
  int64_t source, target;
};

// Sentences of a block, by rows.
struct Layout {
  const char* name;
  int64_t source_rows, target_rows;
  std::vector<Lengths> sentences;
};

inline std::vector<Layout> awkward_layouts() {
  return {{"one row", 1, 1, {{1, 1}}},
          {"one sentence", 4, 3, {{4, 3}}},
          {"unused rows at the end of both sides", 7, 9, {{2, 3}, {3, 2}}},
          {"sentences of one token", 6, 6, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}},
          {"targets longer than sources", 4, 9, {{1, 5}, {2, 4}}}};
}

struct Sizes {
  int64_t width, heads, feed_forward;
};
inline constexpr Sizes kAwkwardSizes[] = {{1, 1, 1}, {5, 1, 3}, {6, 2, 7}, {9, 3, 4}, {8, 2, 5}};

inline ModelConfig bench_config(const Sizes& s, double dropout) {
  ModelConfig c;
  c.width = s.width, c.heads = s.heads, c.feed_forward = s.feed_forward;
  c.encoder_layers = c.decoder_layers = 1;
  c.source_vocabulary = c.target_vocabulary = 7;
  c.activation = FeedForwardActivation::gelu;
  c.dropout = dropout;
  c.resolve(1);
  return c;
}

struct Differentiated {  // an input, and its gradient from backward
  const char* name;
  Tensor value, gradient;
  bool accumulates = false;  // if so, it was initialised to LayerBench::there()
};

class LayerBench {
 public:
  explicit LayerBench(const ModelConfig& config, uint64_t seed = 1) : config(config), seed_(seed) {
    scalars_.set(ctx_, {.step = kStep, .block = kBlock, .loss_scale = kLossScale});
  }
  static constexpr float kLossScale = 0.25f;

  const ModelConfig config;
  ParamStore params{0, 1, DType::f32, test_device()};
  Pass& pass() { return pass_; }

  void allocate() {  // call it after all declarations; no parameter stays at 0 or 1, no gradient starts at 0
    params.allocate();
    for (const Param& p : params.params()) {
      const bool is_gain = p.spec.name.ends_with("norm.weight"), is_matrix = p.spec.name.ends_with(".weight");
      std::vector<float> values(static_cast<size_t>(p.numel()));
      for (float& x : values) x = is_gain ? 1 + 0.3f * draw() : is_matrix ? 0.8f * draw() : 0.5f * draw();
      put(ctx_, values, p.value);
    }
    ops::fill(ctx_, {.x = params.grads(), .value = kThere});
  }
  Tensor there(int64_t rows, int64_t cols) {
    const Tensor t = space(rows, cols);
    ops::fill(ctx_, {.x = t, .value = kThere});
    return t;
  }
  Tensor random(int64_t rows, int64_t cols) {
    std::vector<float> values(static_cast<size_t>(rows * cols));
    for (float& x : values) x = draw();
    return floats(rows, cols, values);
  }
  Tensor floats(int64_t rows, int64_t cols, const std::vector<float>& values) {
    const Tensor t = space(rows, cols);
    put(ctx_, values, t);
    return t;
  }
  Tensor ints(const std::vector<int32_t>& v) {
    const Tensor t = arena_.tensor({static_cast<int64_t>(v.size())}, DType::i32);
    put(ctx_, v, t);
    return t;
  }
  Tensor space(int64_t rows, int64_t cols) { return arena_.tensor({rows, cols}); }
  Tensor copy(const Tensor& x) { return floats(x.rows(), x.cols(), to_host<float>(ctx_, x)); }

  // `f` is y as a function of parameters and inputs. Its values must equal forward's `y`, and its
  // derivatives, weighted with d_y, backward's gradients. Rows without a sentence have d_y = 0 and are not
  // compared.
  using Definition = std::function<Doubles(const DoubleModel&, const std::vector<Matrix>&)>;
  void expect_gradients(const Tensor& y, const Tensor& d_y, const std::vector<Differentiated>& inputs, double relative,
                        const Definition& definition) {
    DoubleParams values;
    for (const Param& p : params.params()) values[p.spec.name] = doubles(p.value);
    std::vector<Matrix> x;
    for (const Differentiated& input : inputs)
      x.push_back(
          {static_cast<size_t>(input.value.rows()), static_cast<size_t>(input.value.cols()), doubles(input.value)});
    const Masks masks{.seed = pass_.seed, .step = kStep, .block = kBlock, .training = pass_.training};
    const DoubleModel model(config, values, masks);
    const Doubles weights = doubles(d_y);
    Doubles got_y = doubles(y), want_y = definition(model, x);
    ASSERT_EQ(got_y.size(), want_y.size());
    for (size_t i = 0; i < weights.size(); ++i)
      if (weights[i] == 0) got_y[i] = want_y[i] = 0;
    expect_close_in_norm(got_y, want_y, relative, floor_for(want_y), "y");
    ASSERT_GT(model.layers().nearest_kink(), 2e-4) << "differences may cross the kink of relu: take another seed";

    // Differentiates with respect to `place`, an element of `values` or `x`.
    const auto differences = [&](Doubles& place) {
      const Doubles kept = place;
      const auto moved = [&](const Doubles& p) {
        place = p;
        return weighted_sum(definition(model, x), weights);
      };
      const Doubles gradient = numerical_gradient(moved, kept);
      place = kept;
      return gradient;
    };
    for (const Param& p : params.params())
      compare(doubles(p.grad, kThere), differences(values.at(p.spec.name)), relative, p.spec.name);
    for (size_t i = 0; i < inputs.size(); ++i)
      compare(doubles(inputs[i].gradient, inputs[i].accumulates ? kThere : 0), differences(x[i].values), relative,
              inputs[i].name);
  }

 private:
  static constexpr uint32_t kStep = 3;
  static constexpr int64_t kBlock = 2;
  static constexpr float kThere = 1.0f / 64;  // initial value of accumulated gradients

  // Inputs, weights and d_y have size 1. A gradient that cancels in exact arithmetic keeps the rounding
  // errors of its terms (its differences are double's noise); a norm over one column multiplies them by 1 /
  // sqrt(1e-5).
  double floor_for(const Doubles& want) const {
    const bool cancels = norm_of_difference(Doubles(want.size()), want) < 1e-7;
    return (cancels ? 3.0 : 0.1) * (config.width == 1 ? 30 : 1);
  }

  float draw() {  // uniform in (-1, 1]
    return 2 * uniform_from_bits(random_bits(seed_, drawn_++, 0, purpose_of("bench"))) - 1;
  }
  Doubles doubles(const Tensor& t, double there = 0) {
    const std::vector<float> values = to_host<float>(ctx_, t);
    Doubles d(values.begin(), values.end());
    for (double& x : d) x -= there;
    return d;
  }

  // Compares queries, keys and values of a fused parameter separately, so that a large gradient does not hide
  // a small one.
  void compare(const Doubles& got, const Doubles& want, double relative, const std::string& name) const {
    const size_t parts = name.find(".qkv.") != name.npos ? 3 : name.find(".kv.") != name.npos ? 2 : 1;
    ASSERT_EQ(got.size(), want.size()) << name;
    const auto part = [&](const Doubles& whole, size_t i) {
      const auto n = static_cast<std::ptrdiff_t>(whole.size() / parts);
      return Doubles(whole.begin() + static_cast<std::ptrdiff_t>(i) * n,
                     whole.begin() + static_cast<std::ptrdiff_t>(i + 1) * n);
    };
    for (size_t i = 0; i < parts; ++i) {
      const std::string what = parts == 1 ? name : name + " part " + std::to_string(i);
      expect_close_in_norm(part(got, i), part(want, i), relative, floor_for(part(want, i)), what.c_str());
    }
  }

  uint64_t seed_, drawn_ = 0;
  Context ctx_{test_device()};
  Arena arena_{size_t{4} << 20, test_device()};
  std::unique_ptr<Communicator> alone_ = make_single_communicator();
  TensorParallel tp_{*alone_};
  DeviceScalars scalars_{test_device()};
  Pass pass_{.ctx = ctx_, .arena = arena_, .tp = tp_, .seed = 7, .scalars = scalars_.get(), .training = true};
};

// One side of a block: the rows of each sentence.
struct Side {
  int64_t rows;
  SentenceRows sentences;

  static Side of(const Layout& layout, int64_t Lengths::*side) {
    Side s{side == &Lengths::source ? layout.source_rows : layout.target_rows, {}};
    int32_t row = 0;
    for (const Lengths& lengths : layout.sentences) {
      const auto end = row + static_cast<int32_t>(lengths.*side);
      s.sentences.emplace_back(row, end);
      row = end;
    }
    return s;
  }
  SequenceRanges ranges(LayerBench& bench, const Side& keys) const {
    return sequence_ranges(sentences, rows, keys.sentences, [&](const auto& values) { return bench.ints(values); });
  }
  Sequences sequences(LayerBench& bench) const {  // without ids
    std::vector<int32_t> positions(static_cast<size_t>(rows), 0);
    for (const auto& [b, e] : sentences)
      for (int32_t row = b; row < e; ++row) positions[static_cast<size_t>(row)] = row - b;
    return {.positions = bench.ints(positions), .rows = ranges(bench, *this)};
  }
  Tensor random_d_y(LayerBench& bench, int64_t cols) const {  // 0 in unused rows
    const Tensor d = bench.random(rows, cols);
    const int64_t used = sentences.back().second;
    ops::fill(bench.pass().ctx, {.x = d.slice_rows(used, rows - used)});
    return d;
  }
  Place place(size_t i) const { return {static_cast<size_t>(sentences[i].first), static_cast<size_t>(rows)}; }
  Matrix sentence(const Matrix& block, size_t i) const {
    return block.rows_from(static_cast<size_t>(sentences[i].first), static_cast<size_t>(sentences[i].second));
  }
  // Joins the rows of the sentences, f(i), to those of the block.
  template <typename F>
  Doubles assemble(int64_t cols, F&& f) const {
    Matrix y{static_cast<size_t>(rows), static_cast<size_t>(cols)};
    for (size_t i = 0; i < sentences.size(); ++i) y.set_rows(static_cast<size_t>(sentences[i].first), f(i));
    return y.values;
  }
};

}  // namespace weft::testing
