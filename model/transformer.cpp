// model/transformer.cpp: runs the graph in execution order. Shapes: S, T source and target rows, D width, V vocabulary.
#include "model/transformer.h"

#include <algorithm>
#include <utility>

#include "model/layers/all_rows.h"
#include "model/parameters/param_gather.h"
#include "tensor/profiler_range.h"

namespace weft {
namespace {

// Frees a block's intermediate results after its forward pass, unless the backward pass reads them.
class BlockScope {
 public:
  BlockScope(Pass& p, const void* saved) {
    if (!saved || p.recompute) scope_.emplace(p.arena);
  }

 private:
  std::optional<ArenaScope> scope_;
};

template <typename Block>
std::vector<Block> make_blocks(ParamStore& params, const std::string& side, int64_t count, const ModelConfig& c,
                               const RotaryPositions* rotary) {
  std::vector<Block> blocks;
  for (int64_t i = 0; i < count; ++i) blocks.emplace_back(params, fmt::format("{}.{}", side, i), c, rotary);
  return blocks;
}

std::optional<Norm> make_final_norm(ParamStore& params, const std::string& side, const ModelConfig& c) {
  if (!c.final_norm) return std::nullopt;
  return Norm(params, side + ".norm", c);
}

Tensor normed(Pass& p, const std::optional<Norm>& norm, const Tensor& x, Norm::Saved* saved) {
  if (!norm) return x;
  const Tensor y = p.arena.like(x);
  norm->forward(p, x, y, saved);
  return y;
}

void need_weights(Pass& p, int64_t end) {
  if (p.gather) p.gather->need(p.ctx, end);
}

void complete_from(GradSync* sync, int64_t offset) {
  if (sync) sync->ready(offset);
}

}  // namespace

Transformer::Tables Transformer::declare_tables(ParamStore& params, const ModelConfig& c) {
  const bool shared = c.tying == Tying::all;
  const Param* source =
      declare_table(params, shared ? "embedding.weight" : "source_embedding.weight", c.source_vocabulary, c);
  return {source, shared ? source : declare_table(params, "target_embedding.weight", c.target_vocabulary, c)};
}

// Parameters are declared in the order of the forward pass, so that backward completes the last gradients first.
Transformer::Transformer(const ModelConfig& c, ParamStore& params, int64_t num_positions)
    : config_(c),
      params_(params),
      tables_(declare_tables(params, c)),
      positions_(params, c, num_positions),
      source_embedding_(params, "source_embedding", tables_.source, c),
      target_embedding_(params, "target_embedding", tables_.target, c),
      encoder_(make_blocks<EncoderBlock>(params, "encoder", c.encoder_layers, c, positions_.rotary())),
      encoder_norm_(make_final_norm(params, "encoder", c)),
      decoder_(make_blocks<DecoderBlock>(params, "decoder", c.decoder_layers, c, positions_.rotary())),
      decoder_norm_(make_final_norm(params, "decoder", c)),
      output_(params, c.tying == Tying::none ? nullptr : tables_.target, c) {}

RowLoss Transformer::loss_and_gradients(Pass& p, const DeviceBatch& batch, const LossOptions& options,
                                        GradSync* sync) const {
  const LossTargets targets{batch.labels, batch.weights};
  Saved saved;
  const Tensor logits = forward(p, batch, &saved);
  RowLoss rows;
  if (options.consistency == Consistency::none) {
    rows = cross_entropy(p, output_, logits, targets, options.smoothing, /*backward=*/true);
  } else {
    Pass second = second_pass(p, options);
    Saved saved_by_second;
    const Tensor second_logits = forward(second, batch, &saved_by_second);
    rows = consistency_loss(p, output_, logits, second_logits, targets, options);
    backward(second, batch, saved_by_second, /*d_logits=*/second_logits, nullptr);
  }
  backward(p, batch, saved, /*d_logits=*/logits, sync);
  return rows;
}

RowLoss Transformer::loss(Pass& p, const DeviceBatch& batch, double smoothing) const {
  const Tensor logits = forward(p, batch, nullptr);
  return cross_entropy(p, output_, logits, {batch.labels, batch.weights}, smoothing, /*backward=*/false);
}

Tensor Transformer::forward(Pass& p, const DeviceBatch& batch, Saved* saved) const {
  const ProfilerRange range(p.ctx, "forward");
  const Tensor encoder_output = encode(p, batch.source, saved);
  const Tensor decoder_output = decode(p, batch, encoder_output, saved);
  const Tensor logits = p.arena.tensor({batch.labels.numel(), output_.columns()}, dtype());
  if (p.gather) p.gather->finish(p.ctx);
  output_.forward(p, decoder_output, logits);
  return logits;
}

Tensor Transformer::encode(Pass& p, const Sequences& source, Saved* saved) const {
  if (saved) saved->encoder.resize(encoder_.size());
  Tensor x = p.arena.tensor({p.own_rows(source.ids.numel()), config_.width}, dtype());
  need_weights(p, encoder_.front().first_offset());
  source_embedding_.forward(p, source.ids, source.positions, positions_.source(), x,
                            saved ? &saved->source_embedding : nullptr);
  for (size_t i = 0; i < encoder_.size(); ++i) {
    const Tensor y = p.arena.like(x);
    const BlockScope scope(p, saved);
    need_weights(p, encoder_[i].end_offset());
    encoder_[i].forward(p, x, source, y, saved ? &saved->encoder[i] : nullptr);
    x = y;
  }
  const Tensor y = gather_rows(p, normed(p, encoder_norm_, x, saved ? &saved->encoder_norm : nullptr));
  if (saved) saved->encoder_output = y;
  return y;
}

Tensor Transformer::decode(Pass& p, const DeviceBatch& batch, const Tensor& encoder_output, Saved* saved) const {
  const Sequences& target = batch.target;
  if (saved) saved->decoder.resize(decoder_.size());
  Tensor x = p.arena.tensor({p.own_rows(target.ids.numel()), config_.width}, dtype());
  target_embedding_.forward(p, target.ids, target.positions, positions_.target(), x,
                            saved ? &saved->target_embedding : nullptr);
  for (size_t i = 0; i < decoder_.size(); ++i) {
    const Tensor y = p.arena.like(x);
    const BlockScope scope(p, saved);
    need_weights(p, decoder_[i].end_offset());
    decoder_[i].forward(p, x, encoder_output, {target, batch.source}, y, saved ? &saved->decoder[i] : nullptr);
    x = y;
  }
  const Tensor y = normed(p, decoder_norm_, x, saved ? &saved->decoder_norm : nullptr);
  if (saved) saved->decoder_output = y;
  return y;
}

void Transformer::backward(Pass& p, const DeviceBatch& batch, const Saved& saved, const Tensor& d_logits,
                           GradSync* sync) const {
  const ProfilerRange range(p.ctx, "backward");
  const Tensor d_encoder_output = backward_decoder(p, batch, saved, d_logits, sync);
  backward_encoder(p, batch, saved, d_encoder_output, sync);
  // This runs once per step, because until then each tp rank sums the gradients of its own rows.
  if (sync && p.splits_rows()) p.tp.all_reduce(p.ctx, params_.row_sum_grads());
  complete_from(sync, 0);
}

Tensor Transformer::backward_decoder(Pass& p, const DeviceBatch& batch, const Saved& s, const Tensor& d_logits,
                                     GradSync* sync) const {
  const Tensor d = p.arena.like(s.decoder_output);  // gradient of the decoder's rows, updated block by block
  const Tensor d_encoder_output = p.arena.tensor({p.own_rows(s.encoder_output.rows()), config_.width}, dtype());
  PartialSum encoder_sum(p, d_encoder_output, /*of_several_matmuls=*/true);  // every decoder block adds its part
  output_.backward(p, d_logits, s.decoder_output, d);
  ops::fill(p.ctx, {.x = encoder_sum.part()});
  if (decoder_norm_) decoder_norm_->backward(p, d, s.decoder_norm, {}, d);
  for (size_t i = decoder_.size(); i-- > 0;) {
    const ArenaScope scope(p.arena);
    DecoderBlock::Saved block = s.decoder[i];
    if (p.recompute)
      decoder_[i].forward(p, s.decoder[i].x, s.encoder_output, {batch.target, batch.source}, p.arena.like(d), &block);
    decoder_[i].backward(p, d, {batch.target, batch.source}, block, encoder_sum.part());
    complete_from(sync, decoder_[i].first_offset());
  }
  target_embedding_.backward(p, batch.target.by_id, batch.target.by_position, positions_.target(), s.target_embedding,
                             d);
  encoder_sum.reduce(p);  // once for all decoder blocks, because the sum is linear
  encoder_sum.finish(p);
  return d_encoder_output;
}

void Transformer::backward_encoder(Pass& p, const DeviceBatch& batch, const Saved& s, const Tensor& d,
                                   GradSync* sync) const {
  if (encoder_norm_) encoder_norm_->backward(p, d, s.encoder_norm, {}, d);
  for (size_t i = encoder_.size(); i-- > 0;) {
    const ArenaScope scope(p.arena);
    EncoderBlock::Saved block = s.encoder[i];
    if (p.recompute) encoder_[i].forward(p, s.encoder[i].x, batch.source, p.arena.like(d), &block);
    encoder_[i].backward(p, d, batch.source, block);
    complete_from(sync, encoder_[i].first_offset());
  }
  source_embedding_.backward(p, batch.source.by_id, batch.source.by_position, positions_.source(), s.source_embedding,
                             d);
}

void Transformer::cross_attention(Pass& p, const DeviceBatch& batch, const AttentionChoice& choice,
                                  const Tensor& y) const {
  assert(!p.recompute);  // the queries and keys of all blocks are read below
  Saved saved;
  decode(p, batch, encode(p, batch.source, &saved), &saved);
  ops::fill(p.ctx, {.x = y});
  const auto num_layers = static_cast<int64_t>(decoder_.size());
  const int64_t first = std::max<int64_t>(choice.layer, 0), last = choice.layer < 0 ? num_layers - 1 : choice.layer;
  const double factor = 1.0 / static_cast<double>((last - first + 1) * (choice.head < 0 ? config_.heads : 1));
  for (int64_t i = first; i <= last; ++i)
    decoder_[i].cross_attention().add_weights(p, saved.decoder[i].cross_attention,
                                              {batch.target.rows, batch.source.rows}, choice.head, factor, y);
  p.tp.all_reduce(p.ctx, y);
}

Transformer::DecodeState::DecodeState(const Context& ctx, const Transformer& model, const TensorParallel& tp,
                                      int64_t slots, int64_t max_length, int64_t source_rows)
    : slots(slots), max_length(max_length) {
  const int64_t columns = model.decoder_.front().cache_columns(tp);
  const int64_t self = slots * max_length * columns, cross = source_rows * columns;
  bytes = model.decoder_.size() * static_cast<size_t>(2 * (self + cross)) * size_of(model.dtype());
  if (!ctx.dry_run()) buffer = Buffer(bytes, ctx.device());
  size_t at = 0;
  const auto take = [&](int64_t rows) {
    const Shape shape{rows, columns};
    if (ctx.dry_run()) return Tensor(nullptr, shape, model.dtype(), ctx.device());
    const Tensor t = buffer.tensor(shape, model.dtype(), at);
    at += t.bytes();
    return t;
  };
  for (size_t i = 0; i < model.decoder_.size(); ++i)
    blocks.push_back({.self = {.k = take(slots * max_length), .v = take(slots * max_length)},
                      .cross = {.k = take(source_rows), .v = take(source_rows)}});
}

bool Transformer::has_inference_weights() const {
  const auto& all = params_.params();
  return std::all_of(all.begin(), all.end(),
                     [](const Param& p) { return p.weight.matrix.empty() || !p.weight.inference.empty(); });
}

void Transformer::start_decoding(Pass& p, const Sequences& source, DecodeState& state) const {
  ArenaScope scope(p.arena);
  const Tensor encoder_output = encode(p, source, nullptr);
  for (size_t i = 0; i < decoder_.size(); ++i) decoder_[i].fill_cross_cache(p, encoder_output, state.blocks[i]);
}

void Transformer::decode_step(Pass& p, const Tensor& ids, const DecoderBlock::StepRows& rows, const DecodeState& state,
                              const Tensor& logits) const {
  ArenaScope scope(p.arena);
  Tensor x = p.arena.tensor({ids.rows(), config_.width}, dtype()), y = p.arena.like(x);
  target_embedding_.forward(p, ids, rows.positions, positions_.target(), x, nullptr);
  for (size_t i = 0; i < decoder_.size(); ++i) {
    decoder_[i].step(p, x, state.blocks[i], rows, y);
    std::swap(x, y);
  }
  if (decoder_norm_) {
    decoder_norm_->forward(p, x, y, nullptr);
    std::swap(x, y);
  }
  output_.forward(p, x, logits);
}

}  // namespace weft
