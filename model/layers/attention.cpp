// model/layers/attention.cpp: implements self- and cross-attention sublayers. Shapes: Rq, Rk rows of queries and keys,
// N heads (N/tp on this rank), K head size.
#include "model/layers/attention.h"

#include <cmath>

#include "model/layers/all_rows.h"
#include "tensor/profiler_range.h"

namespace weft {
namespace {

Tensor first_half(const Tensor& kv) { return kv.slice_cols(0, kv.cols() / 2); }
Tensor second_half(const Tensor& kv) { return kv.slice_cols(kv.cols() / 2, kv.cols() / 2); }

OutputFeatures queries_of(const ModelConfig& c) {
  return {.shape = {c.heads, c.head_size()}, .split = 0, .fan_out = c.width, .parts = {"q"}};
}
OutputFeatures keys_and_values_of(const ModelConfig& c) {
  const int64_t heads = c.num_kv_heads();
  return {.shape = {2, heads, c.head_size()}, .split = 1, .fan_out = heads * c.head_size(), .parts = {"k", "v"}};
}

}  // namespace

AttentionCore::AttentionCore(const std::string& name, const ModelConfig& c, bool causal)
    : heads_(c.heads),
      kv_heads_(c.num_kv_heads()),
      head_size_(c.head_size()),
      causal_(causal),
      rate_(c.dropout_attention),
      purpose_(purpose_of(name + ".probabilities.dropout")) {}

// The global tensor of probabilities is [N, Rq, Rk]. This rank's heads start at tp.rank() * N/tp.
Dropout AttentionCore::dropout(const Pass& p, int64_t queries, int64_t keys) const {
  Dropout d = p.dropout(rate_, purpose_, heads_ * queries, keys);
  d.first += static_cast<uint64_t>(p.tp.rank() * heads(p.tp) * queries * keys);
  return d;
}

void AttentionCore::forward(Pass& p, const AttentionSaved& s, const AttentionRows& rows) const {
  ops::attention_forward(p.ctx, {.q = s.q,
                                 .k = s.k,
                                 .v = s.v,
                                 .q_rows = rows.queries,
                                 .k_rows = rows.keys,
                                 .y = s.context,
                                 .lse = s.lse,
                                 .heads = heads(p.tp),
                                 .kv_heads = kv_heads(p.tp),
                                 .causal = causal_,
                                 .scale = 1.0f / std::sqrt(static_cast<float>(head_size_)),
                                 .dropout = dropout(p, s.q.rows(), s.k.rows())});
}

void AttentionCore::backward(Pass& p, const AttentionSaved& s, const AttentionRows& rows, const Tensor& d_context,
                             const AttentionGradients& d) const {
  ops::attention_backward(p.ctx, {.q = s.q,
                                  .k = s.k,
                                  .v = s.v,
                                  .q_rows = rows.queries,
                                  .k_rows = rows.keys,
                                  .y = s.context,
                                  .lse = s.lse,
                                  .d_y = d_context,
                                  .d_q = d.q,
                                  .d_k = d.k,
                                  .d_v = d.v,
                                  .heads = heads(p.tp),
                                  .kv_heads = kv_heads(p.tp),
                                  .causal = causal_,
                                  .scale = 1.0f / std::sqrt(static_cast<float>(head_size_)),
                                  .dropout = dropout(p, s.q.rows(), s.k.rows())});
}

void AttentionCore::attend(Pass& p, const Tensor& q, const KeyValueCache& cache, const AttentionRows& rows,
                           const Tensor& context) const {
  ops::attention_forward(p.ctx, {.q = q,
                                 .k = cache.k,
                                 .v = cache.v,
                                 .q_rows = rows.queries,
                                 .k_rows = rows.keys,
                                 .y = context,
                                 .heads = heads(p.tp),
                                 .kv_heads = kv_heads(p.tp),
                                 .scale = 1.0f / std::sqrt(static_cast<float>(head_size_))});
}

void AttentionCore::add_weights(Pass& p, const AttentionSaved& s, const AttentionRows& rows, int64_t head,
                                double factor, const Tensor& y) const {
  const int64_t here = heads(p.tp), local = head - p.tp.rank() * here;
  const bool all = head < 0, mine = local >= 0 && local < here;
  ops::attention_weights(p.ctx, {.q = s.q,
                                 .k = s.k,
                                 .q_rows = rows.queries,
                                 .k_rows = rows.keys,
                                 .lse = s.lse,
                                 .heads = here,
                                 .kv_heads = kv_heads(p.tp),
                                 .first_head = all || !mine ? 0 : local,
                                 .num_heads = all    ? here
                                              : mine ? 1
                                                     : 0,
                                 .scale = 1.0f / std::sqrt(static_cast<float>(head_size_)),
                                 .factor = static_cast<float>(factor),
                                 .y = y});
}

SelfAttention::SelfAttention(ParamStore& params, const std::string& name, const ModelConfig& c, bool causal,
                             const RotaryPositions* rotary)
    : core_(name, c, causal), rotary_(rotary) {
  if (c.num_kv_heads() == c.heads) {
    qkv_.emplace(
        params, name + ".qkv",
        OutputFeatures{.shape = {3, c.heads, c.head_size()}, .split = 1, .fan_out = c.width, .parts = {"q", "k", "v"}},
        c.width, c.bias_attention, c.lora);
  } else {
    q_.emplace(params, name + ".q", queries_of(c), c.width, c.bias_attention, c.lora);
    kv_.emplace(params, name + ".kv", keys_and_values_of(c), c.width, c.bias_attention, c.lora);
  }
  out_.emplace(params, name + ".out", Shape{c.heads, c.head_size()}, c.width, "out", c.lora);
}

SelfAttention::Projected SelfAttention::allocate(Pass& p, const Tensor& x) const {
  const int64_t n = core_.columns(p.tp), m = core_.kv_columns(p.tp), rows = p.all_rows(x.rows());
  if (qkv_) {
    const Tensor all = p.arena.tensor({rows, 3 * n}, x.dtype);
    return {.q = all.slice_cols(0, n), .k = all.slice_cols(n, n), .v = all.slice_cols(2 * n, n), .qkv = all};
  }
  const Tensor kv = p.arena.tensor({rows, 2 * m}, x.dtype);
  return {.q = p.arena.tensor({rows, n}, x.dtype), .k = first_half(kv), .v = second_half(kv), .kv = kv};
}

SelfAttention::Projected SelfAttention::project(Pass& p, const Tensor& x, const Tensor& positions) const {
  const Projected y = allocate(p, x);
  const AllRows all(p, x);
  if (qkv_) {
    qkv_->forward(p, all, y.qkv);
  } else {
    q_->forward(p, all, y.q);
    kv_->forward(p, all, y.kv);
  }
  rotate(p, y, positions, /*inverse=*/false);
  return y;
}

void SelfAttention::rotate(Pass& p, const Projected& y, const Tensor& positions, bool inverse) const {
  if (rotary_ == nullptr) return;
  rotary_->rotate(p, y.q, positions, inverse);
  rotary_->rotate(p, y.k, positions, inverse);
}

PartialSum SelfAttention::forward(Pass& p, const Tensor& x, const Sequences& sentences, const Tensor& y,
                                  Saved* saved) const {
  const ProfilerRange range(p.ctx, "self_attention");
  const Projected projected = project(p, x, sentences.positions);
  const Saved s{.x = x,
                .source = x,
                .q = projected.q,
                .k = projected.k,
                .v = projected.v,
                .context = p.arena.tensor({projected.q.rows(), core_.columns(p.tp)}, x.dtype),
                .lse = p.arena.tensor({core_.heads(p.tp), projected.q.rows()})};
  core_.forward(p, s, {sentences.rows, sentences.rows});
  if (saved) *saved = s;
  return out_->forward(p, s.context, y);
}

void SelfAttention::backward(Pass& p, const Tensor& d_y, const Sequences& sentences, const Saved& s,
                             const InputGradient& d_x) const {
  const ProfilerRange range(p.ctx, "self_attention backward");
  ArenaScope scope(p.arena);
  const Tensor d_context = p.arena.like(s.context);
  out_->backward(p, AllRows(p, d_y), s.context, d_context);
  const Projected d = allocate(p, s.x);
  core_.backward(p, s, {sentences.rows, sentences.rows}, d_context, {d.q, d.k, d.v});
  rotate(p, d, sentences.positions, /*inverse=*/true);
  const AllRows x(p, s.x);
  if (qkv_) return qkv_->backward(p, d.qkv, x, d_x);
  PartialSum sum(p, d_x, /*of_several_matmuls=*/true);
  q_->backward_part(p, d.q, x, sum.part(), sum.accumulates());
  kv_->backward_part(p, d.kv, x, sum.part(), /*accumulate=*/true);
  sum.reduce(p);
  sum.finish(p);
}

PartialSum SelfAttention::step(Pass& p, const Tensor& x, const KeyValueCache& cache, const NewRows& added,
                               const AttentionRows& rows, const Tensor& y) const {
  const Projected projected = project(p, x, added.positions);
  ops::scatter_rows(p.ctx, {.x = projected.k, .rows = added.cache_rows, .y = cache.k});
  ops::scatter_rows(p.ctx, {.x = projected.v, .rows = added.cache_rows, .y = cache.v});
  const Tensor context = p.arena.tensor({x.rows(), core_.columns(p.tp)}, x.dtype);
  core_.attend(p, projected.q, cache, rows, context);
  return out_->forward(p, context, y);
}

CrossAttention::CrossAttention(ParamStore& params, const std::string& name, const ModelConfig& c)
    : q_(params, name + ".q", queries_of(c), c.width, c.bias_attention, c.lora),
      kv_(params, name + ".kv", keys_and_values_of(c), c.width, c.bias_attention, c.lora),
      core_(name, c, /*causal=*/false),
      out_(params, name + ".out", {c.heads, c.head_size()}, c.width, "out", c.lora) {}

PartialSum CrossAttention::forward(Pass& p, const Tensor& x, const Tensor& encoder_output, const AttentionRows& rows,
                                   const Tensor& y, Saved* saved) const {
  const ProfilerRange range(p.ctx, "cross_attention");
  const Tensor q = p.arena.tensor({p.all_rows(x.rows()), q_.out()}, x.dtype);
  const Tensor kv = p.arena.tensor({encoder_output.rows(), kv_.out()}, encoder_output.dtype);
  q_.forward(p, AllRows(p, x), q);
  kv_.forward(p, encoder_output, kv);
  const Saved s{.x = x,
                .source = encoder_output,
                .q = q,
                .k = first_half(kv),
                .v = second_half(kv),
                .context = p.arena.tensor({q.rows(), core_.columns(p.tp)}, x.dtype),
                .lse = p.arena.tensor({core_.heads(p.tp), q.rows()})};
  core_.forward(p, s, rows);
  if (saved) *saved = s;
  return out_.forward(p, s.context, y);
}

void CrossAttention::backward(Pass& p, const Tensor& d_y, const AttentionRows& rows, const Saved& s,
                              const InputGradient& d_x, const Tensor& d_encoder_output) const {
  const ProfilerRange range(p.ctx, "cross_attention backward");
  ArenaScope scope(p.arena);
  const Tensor d_context = p.arena.like(s.context);
  out_.backward(p, AllRows(p, d_y), s.context, d_context);
  const Tensor d_q = p.arena.like(s.q);
  const Tensor d_kv = p.arena.tensor({s.source.rows(), kv_.out()}, s.source.dtype);
  core_.backward(p, s, rows, d_context, {d_q, first_half(d_kv), second_half(d_kv)});
  kv_.backward_part(p, d_kv, s.source, d_encoder_output, /*accumulate=*/true);
  q_.backward(p, d_q, AllRows(p, s.x), d_x);
}

void CrossAttention::fill_cache(Pass& p, const Tensor& encoder_output, const KeyValueCache& cache) const {
  ArenaScope scope(p.arena);
  const Tensor kv = p.arena.tensor({encoder_output.rows(), kv_.out()}, encoder_output.dtype);
  kv_.forward(p, encoder_output, kv);
  ops::cast(p.ctx, {.x = first_half(kv), .y = cache.k});
  ops::cast(p.ctx, {.x = second_half(kv), .y = cache.v});
}

PartialSum CrossAttention::step(Pass& p, const Tensor& x, const KeyValueCache& cache, const AttentionRows& rows,
                                const Tensor& y) const {
  const Tensor q = p.arena.tensor({x.rows(), q_.out()}, x.dtype);
  q_.forward(p, x, q);
  const Tensor context = p.arena.like(q);
  core_.attend(p, q, cache, rows, context);
  return out_.forward(p, context, y);
}

}  // namespace weft
