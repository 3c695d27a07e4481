// tests/support/definition/double_layers.h: the layers of docs/model.md in double, as plain loops over the formulas.
//
// An independent definition to differentiate: one sentence at a time, without packing, splits or ops of the
// library. It shares only the dropout masks (tensor/random.h) and the scalar activations and sinusoid. A mask
// is a function of the row's index in its block, so each sentence has the position of its first row.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <map>
#include <string>

#include "model/config.h"
#include "tensor/math.h"
#include "tensor/random.h"
#include "tests/support/definition/activation_value.h"
#include "tests/support/definition/double_norm.h"
#include "tests/support/definition/gradient_check.h"

namespace weft::testing {

using DoubleParams = std::map<std::string, Doubles>;  // by name, global layout

struct Matrix {
  size_t rows = 0, cols = 0;
  Doubles values = Doubles(rows * cols);
  double& at(size_t r, size_t c) { return values[r * cols + c]; }
  double at(size_t r, size_t c) const { return values[r * cols + c]; }
  Matrix rows_from(size_t begin, size_t end) const {
    const auto at = [&](size_t row) { return values.begin() + static_cast<std::ptrdiff_t>(row * cols); };
    return {end - begin, cols, Doubles(at(begin), at(end))};
  }
  void set_rows(size_t begin, const Matrix& m) {
    std::copy(m.values.begin(), m.values.end(), values.begin() + static_cast<std::ptrdiff_t>(begin * cols));
  }
};

struct Place {  // of a sentence in its block
  size_t first_row = 0, block_rows = 0;
};

struct Masks {
  uint64_t seed = 0;
  int64_t step = 0, block = 0;
  bool training = false;

  struct Site {  // dropout factors of one tensor in a block
    DropoutMask dropout;
    uint64_t first = 0;
    double operator()(size_t index) const {
      if (dropout.rate <= 0) return 1;
      return dropout.keeps(first + index) ? 65536.0 / (65536 - dropout.threshold()) : 0;
    }
  };
  Site site(double rate, const std::string& name, size_t elements) const {
    if (!training) return {};
    return {.dropout = {.rate = static_cast<float>(rate),
                        .seed = seed,
                        .step = static_cast<uint32_t>(step),
                        .purpose = purpose_of(name)},
            .first = static_cast<uint64_t>(block) * elements};
  }
};

class DoubleLayers {
 public:
  // `config` is resolved; it and `params` must outlive this object.
  DoubleLayers(const ModelConfig& config, const DoubleParams& params, Masks masks = {})
      : c_(config), params_(params), masks_(masks) {}

  const ModelConfig& config() const { return c_; }
  // The relu input nearest to 0 so far: differences across 0 are not derivatives.
  double nearest_kink() const { return nearest_kink_; }

  // y = x W^T + b, W [out, in], and the adapters of the parts of W.
  Matrix linear(const Matrix& x, const std::string& name, bool has_bias, Place place = {}) const {
    const Doubles &w = params_.at(name + ".weight"), *b = has_bias ? &params_.at(name + ".bias") : nullptr;
    Matrix y{x.rows, w.size() / x.cols};
    for (size_t r = 0; r < y.rows; ++r) {
      for (size_t o = 0; o < y.cols; ++o) {
        double sum = b ? b->at(o) : 0;
        for (size_t i = 0; i < x.cols; ++i) sum += x.at(r, i) * w[o * x.cols + i];
        y.at(r, o) = sum;
      }
    }
    const std::string parts = name.ends_with(".qkv") ? "qkv" : name.ends_with(".kv") ? "kv" : "";
    if (parts.empty()) add_adapter(x, name, 0, place, y);
    for (size_t i = 0; i < parts.size(); ++i)
      add_adapter(x, name + "." + parts[i], i * y.cols / parts.size(), place, y);
    return y;
  }

  // y += alpha / rank * dropout(x) A^T B^T, from a column of y on, if there is an adapter with this name.
  void add_adapter(const Matrix& x, const std::string& name, size_t first, Place place, Matrix& y) const {
    if (!params_.contains(name + ".lora_a")) return;
    const Doubles &a = params_.at(name + ".lora_a"), &b = params_.at(name + ".lora_b");
    const auto rank = static_cast<size_t>(c_.lora.rank);
    const Matrix in = dropped(x, c_.lora.dropout, name + ".lora.dropout", place);
    const double scale = (c_.lora.alpha > 0 ? c_.lora.alpha : static_cast<double>(rank)) / static_cast<double>(rank);
    for (size_t r = 0; r < x.rows; ++r) {
      for (size_t k = 0; k < rank; ++k) {
        double reduced = 0;
        for (size_t i = 0; i < x.cols; ++i) reduced += in.at(r, i) * a[k * x.cols + i];
        for (size_t o = 0; o < b.size() / rank; ++o) y.at(r, first + o) += scale * reduced * b[o * rank + k];
      }
    }
  }

  Matrix norm(Matrix x, const std::string& name) const {
    const NormFormula formula = formula_of(c_.norm_kind);
    const Doubles beta = formula.has_beta ? params_.at(name + ".bias") : Doubles();
    x.values = double_norm(c_.norm_kind, c_.epsilon(), std::move(x.values), params_.at(name + ".weight"), beta);
    return x;
  }

  // x times its mask, by global element.
  Matrix dropped(Matrix x, double rate, const std::string& site_name, Place place) const {
    const Masks::Site site = masks_.site(rate, site_name, place.block_rows * x.cols);
    for (size_t i = 0; i < x.values.size(); ++i) x.values[i] *= site(place.first_row * x.cols + i);
    return x;
  }

  // residual + dropout(linear(x)).
  Matrix residual_linear(const Matrix& x, const Matrix& residual, const std::string& name, bool has_bias,
                         Place place) const {
    return sum(residual, dropped(linear(x, name, has_bias, place), c_.dropout_residual, name + ".dropout", place));
  }

  // post: norm(x + f(x)); pre: x + f(norm(x)). f(input, residual) adds the residual.
  template <typename Sublayer>
  Matrix around(const Matrix& x, const std::string& norm, Sublayer&& f) const {
    if (c_.norm == NormPosition::pre) return f(this->norm(x, norm), x);
    return this->norm(f(x, x), norm);
  }

  Matrix feed_forward(const Matrix& x, const Matrix& residual, const std::string& name, Place place) const {
    Matrix hidden = linear(x, name + ".up", c_.bias_feed_forward, place);
    if (is_gated(c_.activation)) {
      const Matrix gate = part(hidden, 0, 2);
      hidden = part(hidden, 1, 2);
      for (size_t i = 0; i < hidden.values.size(); ++i) hidden.values[i] *= activation(gate.values[i]);
    } else {
      for (double& h : hidden.values) h = activation(h);
    }
    hidden = dropped(std::move(hidden), c_.dropout_feed_forward, name + ".activation.dropout", place);
    return residual_linear(hidden, residual, name + ".down", c_.bias_feed_forward, place);
  }

  Matrix self_attention(const Matrix& x, const Matrix& residual, const std::string& name, bool causal,
                        Place place) const {
    const bool fused = c_.num_kv_heads() == c_.heads;
    const Matrix first = linear(x, name + (fused ? ".qkv" : ".q"), c_.bias_attention, place);
    const Matrix rest = fused ? first : linear(x, name + ".kv", c_.bias_attention, place);
    const Matrix q = turned(fused ? part(first, 0, 3) : first),
                 k = turned(fused ? part(first, 1, 3) : part(rest, 0, 2));
    const Matrix context = attend(q, k, fused ? part(first, 2, 3) : part(rest, 1, 2), name, causal, place, place);
    return residual_linear(context, residual, name + ".out", c_.bias_attention, place);
  }

  Matrix cross_attention(const Matrix& x, const Matrix& residual, const Matrix& memory, const std::string& name,
                         Place queries, Place keys) const {
    const Matrix q = linear(x, name + ".q", c_.bias_attention, queries);
    const Matrix kv = linear(memory, name + ".kv", c_.bias_attention, keys);
    const Matrix context = attend(q, part(kv, 0, 2), part(kv, 1, 2), name, false, queries, keys);
    return residual_linear(context, residual, name + ".out", c_.bias_attention, queries);
  }

 private:
  static Matrix sum(const Matrix& a, Matrix b) {
    for (size_t i = 0; i < b.values.size(); ++i) b.values[i] += a.values[i];
    return b;
  }
  static Matrix part(const Matrix& fused, size_t which, size_t count) {  // the columns of queries, keys or values
    Matrix m{fused.rows, fused.cols / count};
    for (size_t r = 0; r < m.rows; ++r)
      for (size_t i = 0; i < m.cols; ++i) m.at(r, i) = fused.at(r, which * m.cols + i);
    return m;
  }
  double activation(double x) const {
    if (c_.activation == FeedForwardActivation::relu) nearest_kink_ = std::min(nearest_kink_, std::abs(x));
    return activation_value(function_of(c_.activation), x);
  }

  // Each pair of a head's columns as a complex number, times e^(i position 10000^(-2 pair / K)); positions count from
  // 0.
  Matrix turned(Matrix x) const {
    if (!is_rotary(c_.positions)) return x;
    const auto size = static_cast<size_t>(c_.head_size());
    const bool halves = c_.positions == Positions::rotary_halves;
    for (size_t r = 0; r < x.rows; ++r)
      for (size_t head = 0; head < x.cols; head += size)
        for (size_t i = 0; i < size / 2; ++i) {
          const double power = -2 * static_cast<double>(i) / static_cast<double>(size);
          const std::complex<double> turn = std::polar(1.0, static_cast<double>(r) * std::pow(10000.0, power));
          double &re = x.at(r, head + (halves ? i : 2 * i)), &im = x.at(r, head + (halves ? i + size / 2 : 2 * i + 1));
          const std::complex<double> z = std::complex<double>(re, im) * turn;
          re = z.real(), im = z.imag();
        }
    return x;
  }

  // softmax(q k^T / sqrt(K)) v for each head, whose columns are adjacent; dropout follows the softmax.
  Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, const std::string& name, bool causal, Place queries,
                Place keys) const {
    const auto heads = static_cast<size_t>(c_.heads), size = static_cast<size_t>(c_.head_size());
    const size_t sharing =
        heads / static_cast<size_t>(c_.num_kv_heads());  // query heads for each head of keys and values
    const Masks::Site site = masks_.site(c_.dropout_attention, name + ".probabilities.dropout",
                                         heads * queries.block_rows * keys.block_rows);
    Matrix y{q.rows, q.cols};
    for (size_t head = 0; head < heads; ++head) {
      for (size_t i = 0; i < q.rows; ++i) {
        const size_t visible = causal ? i + 1 : k.rows, row = head * queries.block_rows + queries.first_row + i;
        Doubles p(visible);
        double total = 0;
        for (size_t j = 0; j < visible; ++j) {
          for (size_t e = 0; e < size; ++e) p[j] += q.at(i, head * size + e) * k.at(j, head / sharing * size + e);
          p[j] = std::exp(p[j] / std::sqrt(static_cast<double>(size)));
          total += p[j];
        }
        for (size_t j = 0; j < visible; ++j) {
          const double weight = p[j] / total * site(row * keys.block_rows + keys.first_row + j);
          for (size_t e = 0; e < size; ++e) y.at(i, head * size + e) += weight * v.at(j, head / sharing * size + e);
        }
      }
    }
    return y;
  }

  const ModelConfig& c_;
  const DoubleParams& params_;
  Masks masks_;
  mutable double nearest_kink_ = std::numeric_limits<double>::infinity();
};

}  // namespace weft::testing
