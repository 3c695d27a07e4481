// model/layers/embedding.cpp: implements the embedding with positions, and the output projection.
#include "model/layers/embedding.h"

#include <cmath>

#include "model/layers/all_rows.h"
#include "model/layers/partial_sum.h"

namespace weft {
namespace {

InitSpec normal_init(int64_t width) { return InitSpec::normal(1.0f / std::sqrt(static_cast<float>(width))); }

}  // namespace

const Param* declare_table(ParamStore& params, const std::string& name, int64_t vocabulary, const ModelConfig& c) {
  const InitSpec init =
      c.embedding_init == EmbeddingInit::normal ? normal_init(c.width) : InitSpec::xavier(vocabulary, c.width);
  return params.declare({.name = name,
                         .shape = {vocabulary, c.width},
                         .tp_dim = 0,
                         .pad = true,
                         .init = init,
                         .decay = true,
                         .matrix = true});
}

Embedding::Embedding(ParamStore& params, const std::string& name, const Param* table, const ModelConfig& c)
    : table_(table),
      width_(c.width),
      scale_(c.scale_embeddings ? std::sqrt(static_cast<float>(c.width)) : 1.0f),
      rate_(c.dropout_embedding),
      purpose_(purpose_of(name + ".dropout")),
      cut_purpose_(purpose_of(name + ".cut")) {
  if (c.embedding_norm) norm_.emplace(params, name + ".norm", c);
}

void Embedding::forward(Pass& p, const Tensor& ids, const Tensor& positions, const PositionTable& position_table,
                        const Tensor& y, Saved* saved) const {
  const Dropout dropout = p.row_dropout(rate_, purpose_, y.rows(), width_);
  if (!norm_) return look_up(p, ids, positions, position_table.rows(), y, dropout);
  const size_t mark = p.arena.mark();
  const Tensor x = p.arena.like(y);
  look_up(p, ids, positions, position_table.rows(), x, {});
  norm_->forward(p, x, y, saved ? &saved->norm : nullptr);
  if (dropout.rate > 0) ops::dropout_add_forward(p.ctx, {.x = y, .y = y, .dropout = dropout});
  if (!saved) p.arena.reset(mark);
}

void Embedding::look_up(Pass& p, const Tensor& ids, const Tensor& positions, const Tensor& position_rows,
                        const Tensor& y, const Dropout& dropout) const {
  ArenaScope scope(p.arena);
  PartialSum sum(p, y);
  ops::embedding_forward(p.ctx, {.ids = ids,
                                 .table = table_->compute,
                                 .first_id = table_->begin,
                                 .scale = scale_,
                                 .y = sum.part(),
                                 .cut = p.dropout(p.cut, cut_purpose_, ids.numel(), /*width=*/1)});
  sum.reduce(p);
  if (position_rows.empty()) return ops::dropout_add_forward(p.ctx, {.x = sum.sum(), .y = y, .dropout = dropout});
  ops::add_positions(
      p.ctx, {.x = sum.sum(), .positions = p.own_part(positions), .table = position_rows, .y = y, .dropout = dropout});
}

void Embedding::backward(Pass& p, const ops::SortedIds& by_id, const ops::SortedIds& by_position,
                         const PositionTable& position_table, const Saved& saved, const Tensor& d_y) const {
  const Dropout drop = p.row_dropout(rate_, purpose_, d_y.rows(), width_);
  if (drop.rate > 0) ops::dropout_backward(p.ctx, {.d_y = d_y, .d_x = d_y, .dropout = drop});
  if (norm_) norm_->backward(p, d_y, saved.norm, {}, d_y);
  const Param* learned = position_table.learned;
  const bool trains_positions = learned && learned->trains();
  if (!table_->trains() && !trains_positions) return;
  ArenaScope scope(p.arena);
  const Tensor d = gather_rows(p, d_y);
  if (table_->trains())
    ops::embedding_backward(p.ctx, {.sorted = by_id,
                                    .d_y = d,
                                    .first_id = table_->begin,
                                    .scale = scale_,
                                    .d_table = table_->grad,
                                    .cut = p.dropout(p.cut, cut_purpose_, d.rows(), /*width=*/1)});
  if (trains_positions) ops::embedding_backward(p.ctx, {.sorted = by_position, .d_y = d, .d_table = learned->grad});
}

OutputProjection::OutputProjection(ParamStore& params, const Param* tied, const ModelConfig& c)
    : table_(tied ? tied : declare_table(params, "output.weight", c.target_vocabulary, c)),
      vocabulary_(c.target_vocabulary) {
  params.use_as_matrix(table_, columns());
  if (c.bias_output) bias_ = params.declare({.name = "output.bias", .shape = {vocabulary_}, .tp_dim = 0, .pad = true});
}

void OutputProjection::forward(Pass& p, const Tensor& x, const Tensor& logits) const {
  ArenaScope scope(p.arena);
  const Tensor all = gather_rows(p, x);
  ops::gemm(p.ctx, {.a = all,
                    .b = table_->weight,
                    .c = logits,
                    .trans_b = true,
                    .bias = bias_ ? bias_->value : Tensor(),
                    .rounded_bias = bias_ ? bias_->compute : Tensor()});
}

void OutputProjection::backward(Pass& p, const Tensor& d_logits, const Tensor& x, const Tensor& d_x) const {
  ArenaScope scope(p.arena);
  const Tensor all = gather_rows(p, x);
  PartialSum sum(p, d_x);
  ops::gemm(p.ctx, {.a = d_logits, .b = table_->weight, .c = sum.part()});
  if (table_->trains()) {
    ops::gemm(p.ctx, {.a = d_logits,
                      .b = all,
                      .c = table_->grad,
                      .trans_a = true,
                      .accumulate = true,
                      .d_bias = bias_ ? bias_->grad : Tensor()});
  } else if (bias_ && bias_->trains()) {
    ops::column_sum(p.ctx, {.x = d_logits, .y = bias_->grad});
  }
  sum.reduce(p);
  sum.finish(p);
}

}  // namespace weft
