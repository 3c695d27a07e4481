// tests/support/definition/double_model.h: the whole encoder-decoder of docs/model.md in double: embeddings, blocks,
// output, loss.
//
// The reference for the library's model and, through its differences, for its gradients. Reads parameters by
// name, so it covers all architectures.
#pragma once

#include <utility>
#include <vector>

#include "data/batch.h"
#include "tests/support/definition/double_layers.h"

namespace weft::testing {

class DoubleModel {
 public:
  DoubleModel(const ModelConfig& config, const DoubleParams& params, Masks masks = {})
      : c_(config), params_(params), layers_(config, params, masks) {}

  const DoubleLayers& layers() const { return layers_; }

  // dropout(norm(scale * table[id] + position)), where the norm is optional: `side` is source or target, id -1 has the
  // embedding 0; positions count from 0 in each sentence.
  Matrix embed(const std::vector<int32_t>& ids, const std::string& side, Place place) const {
    const Doubles& table = params_.at(c_.tying == Tying::all ? "embedding.weight" : side + "_embedding.weight");
    Matrix x{ids.size(), static_cast<size_t>(c_.width)};
    for (size_t r = 0; r < x.rows; ++r) {
      for (size_t i = 0; i < x.cols; ++i) {
        const double scale = c_.scale_embeddings ? std::sqrt(static_cast<double>(x.cols)) : 1;
        const double entry = ids[r] < 0 ? 0 : table.at(static_cast<size_t>(ids[r]) * x.cols + i);
        x.at(r, i) = scale * entry + position(side, r, i);
      }
    }
    if (c_.embedding_norm) x = layers_.norm(std::move(x), side + "_embedding.norm");
    return layers_.dropped(std::move(x), c_.dropout_embedding, side + "_embedding.dropout", place);
  }

  Matrix encoder_block(const Matrix& x, const std::string& name, Place rows) const {
    const Matrix h = layers_.around(x, name + ".self_attention.norm", [&](const Matrix& in, const Matrix& residual) {
      return layers_.self_attention(in, residual, name + ".self_attention", false, rows);
    });
    return feed_forward_around(h, name, rows);
  }

  Matrix decoder_block(const Matrix& x, const Matrix& memory, const std::string& name, Place target,
                       Place source) const {
    const Matrix h1 = layers_.around(x, name + ".self_attention.norm", [&](const Matrix& in, const Matrix& residual) {
      return layers_.self_attention(in, residual, name + ".self_attention", true, target);
    });
    const Matrix h2 = layers_.around(h1, name + ".cross_attention.norm", [&](const Matrix& in, const Matrix& residual) {
      return layers_.cross_attention(in, residual, memory, name + ".cross_attention", target, source);
    });
    return feed_forward_around(h2, name, target);
  }

  Matrix encode(const std::vector<int32_t>& source, Place rows) const {
    Matrix x = embed(source, "source", rows);
    for (int64_t i = 0; i < c_.encoder_layers; ++i) x = encoder_block(x, "encoder." + std::to_string(i), rows);
    return c_.final_norm ? layers_.norm(std::move(x), "encoder.norm") : x;
  }

  Matrix decode(const std::vector<int32_t>& target_in, const Matrix& memory, Place target, Place source) const {
    Matrix x = embed(target_in, "target", target);
    for (int64_t i = 0; i < c_.decoder_layers; ++i)
      x = decoder_block(x, memory, "decoder." + std::to_string(i), target, source);
    return c_.final_norm ? layers_.norm(std::move(x), "decoder.norm") : x;
  }

  Matrix logits(const Matrix& x) const {
    const Doubles& table = params_.at(c_.tying == Tying::all      ? "embedding.weight"
                                      : c_.tying == Tying::output ? "target_embedding.weight"
                                                                  : "output.weight");
    Matrix y{x.rows, table.size() / x.cols};
    for (size_t r = 0; r < y.rows; ++r) {
      for (size_t v = 0; v < y.cols; ++v) {
        if (c_.bias_output) y.at(r, v) = params_.at("output.bias").at(v);
        for (size_t i = 0; i < x.cols; ++i) y.at(r, v) += x.at(r, i) * table[v * x.cols + i];
      }
    }
    return y;
  }

  // -(1 - e) log p_t - e / (V - 1) sum_{j != t} log p_j of each row.
  static Doubles row_losses(const Matrix& logits, const std::vector<int32_t>& targets, double e) {
    Doubles losses;
    for (size_t r = 0; r < logits.rows; ++r) {
      double total = 0, loss = 0;
      for (size_t v = 0; v < logits.cols; ++v) total += std::exp(logits.at(r, v));
      for (size_t v = 0; v < logits.cols; ++v) {
        const bool is_target = static_cast<int32_t>(v) == targets[r];
        const double wanted = logits.cols == 1 ? 1 : is_target ? 1 - e : e / static_cast<double>(logits.cols - 1);
        loss -= wanted * (logits.at(r, v) - std::log(total));
      }
      losses.push_back(loss);
    }
    return losses;
  }

  // Sum of the smoothed losses of the block's target tokens, each times its weight.
  double loss(const Block& b, double smoothing) const {
    double sum = 0;
    for (size_t i = 0; i + 1 < b.source_offsets.size(); ++i) {
      const Place source{static_cast<size_t>(b.source_offsets[i]), b.source.size()};
      const Place target{static_cast<size_t>(b.target_offsets[i]), b.target_in.size()};
      const Matrix memory = encode(sentence(b.source, b.source_offsets, i), source);
      std::vector<int32_t> inputs = sentence(b.target_in, b.target_offsets, i);
      inputs.front() = c_.start_id();
      const Matrix x = decode(inputs, memory, target, source);
      const double weight = b.weights.empty() ? 1 : static_cast<double>(b.weights[target.first_row]);
      for (double row : row_losses(logits(x), sentence(b.target_out, b.target_offsets, i), smoothing))
        sum += weight * row;
    }
    return sum;
  }

 private:
  static std::vector<int32_t> sentence(const std::vector<int32_t>& ids, const std::vector<int32_t>& offsets, size_t i) {
    return {ids.begin() + offsets[i], ids.begin() + offsets[i + 1]};
  }

  Matrix feed_forward_around(const Matrix& x, const std::string& name, Place rows) const {
    return layers_.around(x, name + ".feed_forward.norm", [&](const Matrix& in, const Matrix& residual) {
      return layers_.feed_forward(in, residual, name + ".feed_forward", rows);
    });
  }

  double position(const std::string& side, size_t row, size_t col) const {
    if (is_rotary(c_.positions)) return 0;
    if (c_.positions == Positions::learned)
      return params_.at(side + "_positions.weight").at(row * static_cast<size_t>(c_.width) + col);
    return sinusoid(sinusoid_layout(c_.positions), static_cast<int64_t>(row) + c_.position_offset,
                    static_cast<int64_t>(col), c_.width);
  }

  const ModelConfig& c_;
  const DoubleParams& params_;
  DoubleLayers layers_;
};

}  // namespace weft::testing
