// model/layers/positions.h: defines position encodings: tables that are added to the embeddings, or rotations of
// self-attention's queries and keys. docs/model.md gives the formulas.
#pragma once

#include <optional>

#include "model/config.h"
#include "model/parameters/param_store.h"
#include "model/pass.h"

namespace weft {

struct PositionTable {             // [max_positions, D], added to the embeddings of one side; the same on every rank
  Tensor sinusoids;                // at most one of these is set; if neither is, nothing is added
  const Param* learned = nullptr;  // "source_positions.weight", "target_positions.weight"
  Tensor rows() const { return learned ? learned->value : sinusoids; }
};

// Rotates queries and keys by their positions (Su et al. 2021), so that scores depend only on distances.
class RotaryPositions {
 public:
  RotaryPositions(const Tensor& table, bool halves) : table_(table), halves_(halves) {}
  // Rotates x [R, heads of K columns] in place; `inverse` rotates a gradient back.
  void rotate(Pass& p, const Tensor& x, const Tensor& positions, bool inverse = false) const;

 private:
  Tensor table_;  // [P, K] sines and cosines
  bool halves_;
};

// Contains the encoding that config.positions selects: one table of sinusoids with `num_positions` rows for both sides,
// two learned tables with config.max_positions rows, or the angles of rotary positions. Sentences have at most
// max_positions() rows.
class PositionEncoding {
 public:
  PositionEncoding(ParamStore& params, const ModelConfig& config, int64_t num_positions);
  const PositionTable& source() const { return source_; }
  const PositionTable& target() const { return target_; }
  const RotaryPositions* rotary() const { return rotary_ ? &*rotary_ : nullptr; }  // lives as long as this object
  int64_t max_positions() const { return max_positions_; }
  size_t bytes() const {  // excludes learned tables, which are parameters
    return Buffer::footprint(buffer_.bytes(), buffer_.device());
  }

 private:
  int64_t max_positions_;
  Buffer buffer_;  // memory of sinusoids or angles
  PositionTable source_, target_;
  std::optional<RotaryPositions> rotary_;
};

}  // namespace weft
