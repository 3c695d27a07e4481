// trainer/export/weights.h: returns the values of a model's parameters by name, for export files that use different
// shapes.
//
// Arrays are created one at a time, when they are written, so writing needs little more memory than the largest array.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/parameters/param_store.h"

namespace weft {

using Values = std::vector<float>;
using MakeValues = std::function<Values()>;

class Weights {
 public:
  // REQUIRES: `params` are on the host and belong to a Transformer with this `config` and tp = 1. Both outlive this
  // object.
  Weights(const ModelConfig& config, const ParamStore& params) : config_(config), params_(params) {}

  bool has(const std::string& name) const { return params_.find(name) != nullptr; }
  Values of(const std::string& name) const;  // row-major; throws an Error of kind internal if `name` is unknown
  Values part(const std::string& name, int64_t first, int64_t count) const;  // `count` values from index `first`

  Values rows(const std::string& name, int64_t first, int64_t count) const {  // rows of a matrix [.., D]
    return part(name, first * config_.width, count * config_.width);
  }

  // Return the parameter names of the tables [V, D] of source, target and output. Tied tables have the same name.
  std::string source_table() const {
    return config_.tying == Tying::all ? "embedding.weight" : "source_embedding.weight";
  }
  std::string target_table() const {
    return config_.tying == Tying::all ? "embedding.weight" : "target_embedding.weight";
  }
  std::string output_table() const { return config_.tying == Tying::none ? "output.weight" : target_table(); }

  // Returns [count, D]. Row p is added to the embedding at position p. REQUIRES: positions are sinusoids.
  Values positions(int64_t count) const;

 private:
  const Param& param(const std::string& name) const;

  const ModelConfig& config_;
  const ParamStore& params_;
};

}  // namespace weft
