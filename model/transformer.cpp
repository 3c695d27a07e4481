// model/transformer.cpp: the graph in the order it runs.   S source rows, T target rows, D width, V vocabulary
#include "model/transformer.h"

#include <algorithm>

namespace weft {
namespace {

// Of a block whose shapes must not change there are `most` sentences, the last of which have no rows.
SequenceRanges upload_ranges(Pass& p, std::vector<int32_t> offsets, int64_t rows, int64_t most) {
  if (p.state != nullptr) offsets.resize(static_cast<size_t>(most) + 1, offsets.back());
  const Tensor t = upload(p, offsets, rows + 1);
  const int64_t sentences = static_cast<int64_t>(offsets.size()) - 1;
  return {.begin = t.slice_rows(0, sentences), .end = t.slice_rows(1, sentences)};
}

// Around one block's forward pass: what it computes on the way is dead afterwards, unless backward will read it there.
class BlockScope {
 public:
  BlockScope(Pass& p, const void* saved) {
    if (!saved || p.recompute) scope_.emplace(p.arena);
  }

 private:
  std::optional<ArenaScope> scope_;
};

template <typename Block>
std::vector<Block> make_blocks(ParamStore& params, const std::string& side, int64_t count, const ModelConfig& c) {
  std::vector<Block> blocks;
  for (int64_t i = 0; i < count; ++i) blocks.emplace_back(params, fmt::format("{}.{}", side, i), c);
  return blocks;
}

std::optional<LayerNorm> make_final_norm(ParamStore& params, const std::string& side, const ModelConfig& c) {
  if (!c.final_norm) return std::nullopt;
  return LayerNorm(params, side + ".norm", c.width);
}

const Param* target_table(ParamStore& params, const ModelConfig& c, const Param* source) {
  return c.tying == Tying::all ? source : declare_table(params, "target_embedding.weight", c.target_vocabulary, c);
}

const char* source_name(const ModelConfig& c) {
  return c.tying == Tying::all ? "embedding.weight" : "source_embedding.weight";
}

const Param* output_table(ParamStore& params, const ModelConfig& c, const Param* target) {
  return c.tying == Tying::none ? declare_table(params, "output.weight", c.target_vocabulary, c) : target;
}

}  // namespace

// The order of declaration is the order of the forward pass, so that the backward pass completes gradients from the
// end.
Transformer::Transformer(const ModelConfig& c, ParamStore& params, int64_t num_sinusoids)
    : config_(c),
      source_table_(declare_table(params, source_name(c), c.source_vocabulary, c)),
      target_table_(target_table(params, c, source_table_)),
      output_table_(nullptr),
      positions_(params, c, num_sinusoids),
      source_embedding_("source_embedding", source_table_, positions_.source(), c),
      target_embedding_("target_embedding", target_table_, positions_.target(), c),
      encoder_(make_blocks<EncoderBlock>(params, "encoder", c.encoder_layers, c)),
      encoder_norm_(make_final_norm(params, "encoder", c)),
      decoder_(make_blocks<DecoderBlock>(params, "decoder", c.decoder_layers, c)),
      decoder_norm_(make_final_norm(params, "decoder", c)),
      output_(params, output_table_ = output_table(params, c, target_table_), c) {
  saved_.encoder.resize(encoder_.size());
  saved_.decoder.resize(decoder_.size());
}

void Transformer::load(Pass& p, const Block& block) {
  const int64_t S = static_cast<int64_t>(block.source.size()), T = static_cast<int64_t>(block.target_in.size());
  p.arena.reset();
  saved_.source = upload(p, block.source, S);
  saved_.target_in = upload(p, block.target_in, T);
  saved_.target_out = upload(p, block.target_out, T);
  saved_.source_rows = upload_ranges(p, block.source_offsets, S, std::min(S, T));
  saved_.target_rows = upload_ranges(p, block.target_offsets, T, std::min(S, T));
  saved_.source_positions = upload(p, block.source_positions, S);
  saved_.target_positions = upload(p, block.target_positions, T);
}

RowLoss Transformer::loss_and_gradients(Pass& p, double smoothing, double grad_scale, GradSync* sync) {
  const Tensor logits = forward(p, &saved_);
  const RowLoss rows = cross_entropy(p, output_, logits, saved_.target_out, smoothing, grad_scale, /*backward=*/true);
  backward(p, /*d_logits=*/logits, sync);
  return rows;
}

RowLoss Transformer::loss(Pass& p, const Block& block, double smoothing) {
  load(p, block);
  const Tensor logits = forward(p, nullptr);
  return cross_entropy(p, output_, logits, saved_.target_out, smoothing, 0, /*backward=*/false);
}

Tensor Transformer::cross_attention(Pass& p, const Block& block, const AttentionChoice& choice) {
  assert(!p.recompute);  // all blocks' keys and queries are read below
  load(p, block);
  decoder_output(p, &saved_);
  int64_t longest = 0;
  for (size_t i = 0; i + 1 < block.source_offsets.size(); ++i)
    longest = std::max<int64_t>(longest, block.source_offsets[i + 1] - block.source_offsets[i]);
  const Tensor y = p.arena.tensor({static_cast<int64_t>(block.target_in.size()), longest});
  ops::fill(p.ctx, {.x = y});
  const auto num_layers = static_cast<int64_t>(decoder_.size());
  const int64_t first = std::max<int64_t>(choice.layer, 0), last = choice.layer < 0 ? num_layers - 1 : choice.layer;
  const double factor = 1.0 / static_cast<double>((last - first + 1) * (choice.head < 0 ? config_.heads : 1));
  for (int64_t i = first; i <= last; ++i)
    decoder_[i].cross_attention().add_weights(p, saved_.decoder[i].cross, saved_.target_rows, saved_.source_rows,
                                              choice.head, factor, y);
  p.tp.all_reduce(p.ctx, y);
  return y;
}

Tensor Transformer::forward(Pass& p, Saved* saved) {
  const Tensor output = decoder_output(p, saved);
  const Tensor logits = p.arena.tensor({output.rows(), output_.columns()}, dtype());
  output_.forward(p, output, logits);
  return logits;
}

Tensor Transformer::decoder_output(Pass& p, Saved* saved) {
  const Tensor memory = encode(p, saved_.source, saved_.source_positions, saved_.source_rows, saved);  // [S, D]
  const Tensor output =
      decode(p, saved_.target_in, saved_.target_positions, memory, saved_.target_rows, saved_.source_rows, saved);
  if (saved) saved->memory = memory, saved->output = output;
  return output;
}

Tensor Transformer::encode(Pass& p, const Tensor& ids, const Tensor& positions, const SequenceRanges& rows,
                           Saved* saved) const {
  Tensor x = p.arena.tensor({ids.rows(), config_.width}, dtype());
  source_embedding_.forward(p, ids, positions, x);
  for (size_t i = 0; i < encoder_.size(); ++i) {
    const Tensor y = p.arena.like(x);
    const BlockScope scope(p, saved);
    encoder_[i].forward(p, x, rows, y, saved ? &saved->encoder[i] : nullptr);
    x = y;
  }
  if (!encoder_norm_) return x;
  const Tensor y = p.arena.like(x);
  encoder_norm_->forward(p, x, y, saved ? &saved->encoder_norm : nullptr);
  return y;
}

Tensor Transformer::decode(Pass& p, const Tensor& ids, const Tensor& positions, const Tensor& memory,
                           const SequenceRanges& target, const SequenceRanges& source, Saved* saved) const {
  Tensor x = p.arena.tensor({ids.rows(), config_.width}, dtype());
  target_embedding_.forward(p, ids, positions, x);
  for (size_t i = 0; i < decoder_.size(); ++i) {
    const Tensor y = p.arena.like(x);
    const BlockScope scope(p, saved);
    decoder_[i].forward(p, x, memory, target, source, y, saved ? &saved->decoder[i] : nullptr);
    x = y;
  }
  if (!decoder_norm_) return x;
  const Tensor y = p.arena.like(x);
  decoder_norm_->forward(p, x, y, saved ? &saved->decoder_norm : nullptr);
  return y;
}

void Transformer::backward(Pass& p, const Tensor& d_logits, GradSync* sync) {
  Saved& s = saved_;
  const auto complete_from = [&](int64_t offset) {
    if (sync) sync->ready(offset);
  };
  const Tensor d = p.arena.like(s.output);                     // gradient of the decoder's rows, block by block
  const Tensor d_memory_sum = p.arena.tensor(s.memory.shape);  // of the encoder's output: f32, from every decoder block
  output_.backward(p, d_logits, s.output, d);
  ops::fill(p.ctx, {.x = d_memory_sum});
  if (decoder_norm_) decoder_norm_->backward(p, d, s.decoder_norm, {}, d);
  for (size_t i = decoder_.size(); i-- > 0;) {
    const ArenaScope scope(p.arena);
    if (p.recompute)
      decoder_[i].forward(p, Tensor(s.decoder[i].x), s.memory, s.target_rows, s.source_rows, p.arena.like(d),
                          &s.decoder[i]);
    decoder_[i].backward(p, d, s.target_rows, s.source_rows, s.decoder[i], d_memory_sum);
    complete_from(decoder_[i].first_offset());
  }
  target_embedding_.backward(p, s.target_in, s.target_positions, d);
  p.tp.all_reduce(p.ctx, d_memory_sum);  // all decoder blocks' parts at once: the sum is linear
  Tensor d_memory = d_memory_sum;        // then of its rows, block by block
  if (dtype() != DType::f32) {
    d_memory = p.arena.like(s.memory);
    ops::cast(p.ctx, {.x = d_memory_sum, .y = d_memory});
  }
  if (encoder_norm_) encoder_norm_->backward(p, d_memory, s.encoder_norm, {}, d_memory);
  for (size_t i = encoder_.size(); i-- > 0;) {
    const ArenaScope scope(p.arena);
    if (p.recompute)
      encoder_[i].forward(p, Tensor(s.encoder[i].x), s.source_rows, p.arena.like(d_memory), &s.encoder[i]);
    encoder_[i].backward(p, d_memory, s.source_rows, s.encoder[i]);
    complete_from(encoder_[i].first_offset());
  }
  source_embedding_.backward(p, s.source, s.source_positions, d_memory);
  complete_from(0);
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

void Transformer::start_decoding(Pass& p, const Tensor& ids, const Tensor& positions, const SequenceRanges& sentences,
                                 DecodeState& state) const {
  ArenaScope scope(p.arena);
  const Tensor memory = encode(p, ids, positions, sentences, nullptr);
  for (size_t i = 0; i < decoder_.size(); ++i) decoder_[i].fill_cross_cache(p, memory, state.blocks[i]);
}

void Transformer::decode_step(Pass& p, const Tensor& ids, const Tensor& positions, const DecoderBlock::StepRows& rows,
                              const DecodeState& state, const Tensor& logits) const {
  ArenaScope scope(p.arena);
  Tensor x = p.arena.tensor({ids.rows(), config_.width}, dtype()), y = p.arena.like(x);
  target_embedding_.forward(p, ids, positions, x);
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
