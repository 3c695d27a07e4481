// model/layers/attention.cpp: self- and cross-attention sublayers.   Rq, Rk rows of queries and keys, N heads (N/tp
// here), K head size
#include "model/layers/attention.h"

#include <cmath>

namespace weft {
namespace {

int64_t third(const Tensor& fused) { return fused.cols() / 3; }
int64_t half(const Tensor& fused) { return fused.cols() / 2; }

}  // namespace

AttentionCore::AttentionCore(const std::string& name, const ModelConfig& c, bool causal)
    : heads_(c.heads),
      head_size_(c.head_size()),
      causal_(causal),
      rate_(c.dropout_attention),
      purpose_(purpose_of(name + ".probabilities.dropout")) {}

// Probabilities are [N, Rq, Rk] globally; this rank's heads begin at tp.rank() * N/tp.
Dropout AttentionCore::dropout(const Pass& p, int64_t queries, int64_t keys) const {
  Dropout d = p.dropout(rate_, purpose_, heads_ * queries, keys);
  d.first += static_cast<uint64_t>(p.tp.rank() * heads(p.tp) * queries * keys);
  return d;
}

void AttentionCore::forward(Pass& p, const AttentionSaved& s, const SequenceRanges& queries,
                            const SequenceRanges& keys) const {
  ops::attention_forward(p.ctx, {.q = s.q,
                                 .k = s.k,
                                 .v = s.v,
                                 .q_rows = queries,
                                 .k_rows = keys,
                                 .y = s.context,
                                 .lse = s.lse,
                                 .heads = heads(p.tp),
                                 .causal = causal_,
                                 .scale = 1.0f / std::sqrt(static_cast<float>(head_size_)),
                                 .dropout = dropout(p, s.q.rows(), s.k.rows())});
}

void AttentionCore::backward(Pass& p, const AttentionSaved& s, const SequenceRanges& queries,
                             const SequenceRanges& keys, const Tensor& d_context, const Tensor& d_q, const Tensor& d_k,
                             const Tensor& d_v) const {
  ops::attention_backward(p.ctx, {.q = s.q,
                                  .k = s.k,
                                  .v = s.v,
                                  .q_rows = queries,
                                  .k_rows = keys,
                                  .y = s.context,
                                  .lse = s.lse,
                                  .d_y = d_context,
                                  .d_q = d_q,
                                  .d_k = d_k,
                                  .d_v = d_v,
                                  .heads = heads(p.tp),
                                  .causal = causal_,
                                  .scale = 1.0f / std::sqrt(static_cast<float>(head_size_)),
                                  .dropout = dropout(p, s.q.rows(), s.k.rows())});
}

void AttentionCore::attend(Pass& p, const Tensor& q, const KeyValueCache& cache, const SequenceRanges& queries,
                           const SequenceRanges& keys, const Tensor& context) const {
  ops::attention_forward(p.ctx, {.q = q,
                                 .k = cache.k,
                                 .v = cache.v,
                                 .q_rows = queries,
                                 .k_rows = keys,
                                 .y = context,
                                 .heads = heads(p.tp),
                                 .scale = 1.0f / std::sqrt(static_cast<float>(head_size_))});
}

void AttentionCore::add_weights(Pass& p, const AttentionSaved& s, const SequenceRanges& queries,
                                const SequenceRanges& keys, int64_t head, double factor, const Tensor& y) const {
  const int64_t here = heads(p.tp), local = head - p.tp.rank() * here;
  const bool all = head < 0, mine = local >= 0 && local < here;
  ops::attention_weights(p.ctx, {.q = s.q,
                                 .k = s.k,
                                 .q_rows = queries,
                                 .k_rows = keys,
                                 .lse = s.lse,
                                 .heads = here,
                                 .first_head = all || !mine ? 0 : local,
                                 .num_heads = all    ? here
                                              : mine ? 1
                                                     : 0,
                                 .scale = 1.0f / std::sqrt(static_cast<float>(head_size_)),
                                 .factor = static_cast<float>(factor),
                                 .y = y});
}

SelfAttention::SelfAttention(ParamStore& params, const std::string& name, const ModelConfig& c, bool causal)
    : qkv_(params, name + ".qkv", {3, c.heads, c.head_size()}, /*split=*/1, c.width, c.width, c.bias_attention),
      core_(name, c, causal),
      out_(params, name + ".out", {c.heads, c.head_size()}, c.width) {}

PartialSum SelfAttention::forward(Pass& p, const Tensor& x, const SequenceRanges& rows, const Tensor& y,
                                  Saved* saved) const {
  const Tensor qkv = p.arena.tensor({x.rows(), qkv_.out()}, x.dtype);
  qkv_.forward(p, x, qkv);
  const int64_t n = third(qkv);
  const Saved s{.x = x,
                .source = x,
                .q = qkv.slice_cols(0, n),
                .k = qkv.slice_cols(n, n),
                .v = qkv.slice_cols(2 * n, n),
                .context = p.arena.tensor({x.rows(), n}, x.dtype),
                .lse = p.arena.tensor({core_.heads(p.tp), x.rows()})};
  core_.forward(p, s, rows, rows);
  if (saved) *saved = s;
  return out_.forward(p, s.context, y);
}

void SelfAttention::backward(Pass& p, const Tensor& d_y, const SequenceRanges& rows, const Saved& s,
                             const Tensor& d_x) const {
  ArenaScope scope(p.arena);
  const Tensor d_context = p.arena.like(s.context);
  out_.backward(p, d_y, s.context, d_context);
  const Tensor d_qkv = p.arena.tensor({s.x.rows(), qkv_.out()}, s.x.dtype);
  const int64_t n = third(d_qkv);
  core_.backward(p, s, rows, rows, d_context, d_qkv.slice_cols(0, n), d_qkv.slice_cols(n, n),
                 d_qkv.slice_cols(2 * n, n));
  qkv_.backward(p, d_qkv, s.x, d_x);
}

PartialSum SelfAttention::step(Pass& p, const Tensor& x, const KeyValueCache& cache, const Tensor& cache_rows,
                               const SequenceRanges& queries, const SequenceRanges& keys, const Tensor& y) const {
  const Tensor qkv = p.arena.tensor({x.rows(), qkv_.out()}, x.dtype);
  qkv_.forward(p, x, qkv);
  const int64_t n = third(qkv);
  ops::scatter_rows(p.ctx, {.x = qkv.slice_cols(n, n), .rows = cache_rows, .y = cache.k});
  ops::scatter_rows(p.ctx, {.x = qkv.slice_cols(2 * n, n), .rows = cache_rows, .y = cache.v});
  const Tensor context = p.arena.tensor({x.rows(), n}, x.dtype);
  core_.attend(p, qkv.slice_cols(0, n), cache, queries, keys, context);
  return out_.forward(p, context, y);
}

CrossAttention::CrossAttention(ParamStore& params, const std::string& name, const ModelConfig& c)
    : q_(params, name + ".q", {c.heads, c.head_size()}, /*split=*/0, c.width, c.width, c.bias_attention),
      kv_(params, name + ".kv", {2, c.heads, c.head_size()}, /*split=*/1, c.width, c.width, c.bias_attention),
      core_(name, c, /*causal=*/false),
      out_(params, name + ".out", {c.heads, c.head_size()}, c.width) {}

PartialSum CrossAttention::forward(Pass& p, const Tensor& x, const Tensor& encoder_output,
                                   const SequenceRanges& queries, const SequenceRanges& keys, const Tensor& y,
                                   Saved* saved) const {
  const Tensor q = p.arena.tensor({x.rows(), q_.out()}, x.dtype);
  const Tensor kv = p.arena.tensor({encoder_output.rows(), kv_.out()}, encoder_output.dtype);
  q_.forward(p, x, q);
  kv_.forward(p, encoder_output, kv);
  const int64_t n = half(kv);
  const Saved s{.x = x,
                .source = encoder_output,
                .q = q,
                .k = kv.slice_cols(0, n),
                .v = kv.slice_cols(n, n),
                .context = p.arena.tensor({x.rows(), n}, x.dtype),
                .lse = p.arena.tensor({core_.heads(p.tp), x.rows()})};
  core_.forward(p, s, queries, keys);
  if (saved) *saved = s;
  return out_.forward(p, s.context, y);
}

void CrossAttention::backward(Pass& p, const Tensor& d_y, const SequenceRanges& queries, const SequenceRanges& keys,
                              const Saved& s, const Tensor& d_x, const Tensor& d_encoder_output) const {
  ArenaScope scope(p.arena);
  const Tensor d_context = p.arena.like(s.context);
  out_.backward(p, d_y, s.context, d_context);
  const Tensor d_q = p.arena.tensor({s.x.rows(), q_.out()}, s.x.dtype);
  const Tensor d_kv = p.arena.tensor({s.source.rows(), kv_.out()}, s.source.dtype);
  const int64_t n = half(d_kv);
  core_.backward(p, s, queries, keys, d_context, d_q, d_kv.slice_cols(0, n), d_kv.slice_cols(n, n));
  kv_.accumulate_backward(p, d_kv, s.source, d_encoder_output);
  q_.backward(p, d_q, s.x, d_x);
}

void CrossAttention::fill_cache(Pass& p, const Tensor& encoder_output, const KeyValueCache& cache) const {
  ArenaScope scope(p.arena);
  const Tensor kv = p.arena.tensor({encoder_output.rows(), kv_.out()}, encoder_output.dtype);
  kv_.forward(p, encoder_output, kv);
  const int64_t n = half(kv);
  ops::cast(p.ctx, {.x = kv.slice_cols(0, n), .y = cache.k});
  ops::cast(p.ctx, {.x = kv.slice_cols(n, n), .y = cache.v});
}

PartialSum CrossAttention::step(Pass& p, const Tensor& x, const KeyValueCache& cache, const SequenceRanges& queries,
                                const SequenceRanges& keys, const Tensor& y) const {
  const Tensor q = p.arena.tensor({x.rows(), q_.out()}, x.dtype);
  q_.forward(p, x, q);
  const Tensor context = p.arena.like(q);
  core_.attend(p, q, cache, queries, keys, context);
  return out_.forward(p, context, y);
}

}  // namespace weft
