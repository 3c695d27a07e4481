// model/layers/embedding.h: defines the vocabulary-parallel layers: the token embedding with positions, and the output
// projection, which may use the same table.
//
// A table [V, D] is split by rows over tp. A rank looks up the ids whose rows it holds. An all-reduce over tp then
// completes the rows, or a reduce-scatter completes the rank's own rows (Pass::sequence). Embeddings are scaled by
// sqrt(D) (Vaswani et al. 2017, section 3.4), then positions are added, and then dropout is applied. A pass may cut
// tokens: their embedding is 0, and only their position remains. BART normalizes the sum before dropout (Lewis et al.
// 2020; model.embedding_norm).
#pragma once

#include <optional>
#include <string>

#include "model/layers/normalization.h"
#include "model/layers/positions.h"

namespace weft {

const Param* declare_table(ParamStore& params, const std::string& name, int64_t vocabulary, const ModelConfig& config);

class Embedding {  // y = dropout(norm(scale * table[id] + positions[position])), where the norm is optional
 public:
  struct Saved {
    Norm::Saved norm;
  };
  // Declares the norm's parameters name.norm.weight and name.norm.bias, if config.embedding_norm.
  Embedding(ParamStore& params, const std::string& name, const Param* table, const ModelConfig& config);
  void forward(Pass& p, const Tensor& ids, const Tensor& positions, const PositionTable& position_table,
               const Tensor& y, Saved* saved) const;  // [R] -> [R, D], or own rows
  // Overwrites d_y. Unused rows, whose sorted ids are -1, add nothing.
  void backward(Pass& p, const ops::SortedIds& by_id, const ops::SortedIds& by_position,
                const PositionTable& position_table, const Saved& saved, const Tensor& d_y) const;

 private:
  void look_up(Pass& p, const Tensor& ids, const Tensor& positions, const Tensor& position_rows, const Tensor& y,
               const Dropout& dropout) const;
  const Param* table_;
  std::optional<Norm> norm_;
  int64_t width_;
  float scale_;
  double rate_;
  uint32_t purpose_, cut_purpose_;
};

class OutputProjection {  // logits [R, V/tp] = x W^T (+ b); x [R, D], or own rows
 public:
  // W is the embedding table `tied` or, if that is nullptr, a parameter output.weight.
  OutputProjection(ParamStore& params, const Param* tied, const ModelConfig& config);
  int64_t columns() const { return table_->value.rows(); }
  DType dtype() const { return table_->compute.dtype; }  // type of the logits
  VocabularyRange range(const TensorParallel& tp) const {
    return VocabularyRange::of(vocabulary_, tp.rank(), tp.size());
  }
  int64_t vocabulary() const { return vocabulary_; }
  void forward(Pass& p, const Tensor& x, const Tensor& logits) const;
  void backward(Pass& p, const Tensor& d_logits, const Tensor& x, const Tensor& d_x) const;  // sums d_x over tp

 private:
  const Param *table_, *bias_ = nullptr;
  int64_t vocabulary_;
};

}  // namespace weft
