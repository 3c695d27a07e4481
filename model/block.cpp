// model/block.cpp: implements the encoder and decoder blocks.
#include "model/block.h"

#include "tensor/profiler_range.h"

namespace weft {
namespace {

template <typename Saved, typename Part>
Part* part_of(Saved* saved, Part Saved::*part) {  // nullptr stays nullptr: inference saves nothing
  return saved ? &(saved->*part) : nullptr;
}

}  // namespace

EncoderBlock::EncoderBlock(ParamStore& params, const std::string& name, const ModelConfig& c,
                           const RotaryPositions* rotary)
    : name_(name),
      first_offset_(params.matrix_numel()),
      self_attention_(params, name + ".self_attention", c, /*causal=*/false, rotary),
      after_self_attention_(params, name + ".self_attention", "out", c.bias_attention, c),
      feed_forward_(params, name + ".feed_forward", c),
      after_feed_forward_(params, name + ".feed_forward", "down", c.bias_feed_forward, c),
      end_offset_(params.matrix_numel()),
      norm_position_(c.norm) {}

void EncoderBlock::forward(Pass& p, const Tensor& x, const Sequences& source, const Tensor& y, Saved* saved) const {
  const ProfilerRange range(p.ctx, name_);
  ResidualStream stream(p, residuals(), x, y, part_of(saved, &Saved::residual));
  stream.add(
      p, self_attention_.forward(p, stream.input(), source, stream.output(), part_of(saved, &Saved::self_attention)));
  stream.add(p, feed_forward_.forward(p, stream.input(), stream.output(), part_of(saved, &Saved::feed_forward)));
  if (saved) saved->x = x;
}

void EncoderBlock::backward(Pass& p, const Tensor& d, const Sequences& source, const Saved& s) const {
  const ProfilerRange range(p.ctx, name_ + " backward");
  const ArenaScope scope(p.arena);
  ResidualGradient gradient(p, residuals(), d, s.residual);
  feed_forward_.backward(p, gradient.of_output(p), s.feed_forward, gradient.of_input());
  self_attention_.backward(p, gradient.of_output(p), source, s.self_attention, gradient.of_input());
  gradient.finish(p);
}

DecoderBlock::DecoderBlock(ParamStore& params, const std::string& name, const ModelConfig& c,
                           const RotaryPositions* rotary)
    : name_(name),
      first_offset_(params.matrix_numel()),
      self_attention_(params, name + ".self_attention", c, /*causal=*/true, rotary),
      after_self_attention_(params, name + ".self_attention", "out", c.bias_attention, c),
      cross_attention_(params, name + ".cross_attention", c),
      after_cross_attention_(params, name + ".cross_attention", "out", c.bias_attention, c),
      feed_forward_(params, name + ".feed_forward", c),
      after_feed_forward_(params, name + ".feed_forward", "down", c.bias_feed_forward, c),
      end_offset_(params.matrix_numel()),
      norm_position_(c.norm) {}

void DecoderBlock::forward(Pass& p, const Tensor& x, const Tensor& encoder_output, const Sides& sides, const Tensor& y,
                           Saved* saved) const {
  const ProfilerRange range(p.ctx, name_);
  ResidualStream stream(p, residuals(), x, y, part_of(saved, &Saved::residual));
  stream.add(p, self_attention_.forward(p, stream.input(), sides.target, stream.output(),
                                        part_of(saved, &Saved::self_attention)));
  stream.add(p, cross_attention_.forward(p, stream.input(), encoder_output, {sides.target.rows, sides.source.rows},
                                         stream.output(), part_of(saved, &Saved::cross_attention)));
  stream.add(p, feed_forward_.forward(p, stream.input(), stream.output(), part_of(saved, &Saved::feed_forward)));
  if (saved) saved->x = x;
}

void DecoderBlock::backward(Pass& p, const Tensor& d, const Sides& sides, const Saved& s,
                            const Tensor& d_encoder_output) const {
  const ProfilerRange range(p.ctx, name_ + " backward");
  const ArenaScope scope(p.arena);
  ResidualGradient gradient(p, residuals(), d, s.residual);
  feed_forward_.backward(p, gradient.of_output(p), s.feed_forward, gradient.of_input());
  cross_attention_.backward(p, gradient.of_output(p), {sides.target.rows, sides.source.rows}, s.cross_attention,
                            gradient.of_input(), d_encoder_output);
  self_attention_.backward(p, gradient.of_output(p), sides.target, s.self_attention, gradient.of_input());
  gradient.finish(p);
}

void DecoderBlock::fill_cross_cache(Pass& p, const Tensor& encoder_output, const Cache& cache) const {
  cross_attention_.fill_cache(p, encoder_output, cache.cross);
}

void DecoderBlock::step(Pass& p, const Tensor& x, const Cache& cache, const StepRows& rows, const Tensor& y) const {
  ArenaScope scope(p.arena);
  ResidualStream stream(p, residuals(), x, y, nullptr);
  stream.add(p, self_attention_.step(p, stream.input(), cache.self, {rows.cache_rows, rows.positions},
                                     {rows.queries, rows.self_keys}, stream.output()));
  stream.add(p,
             cross_attention_.step(p, stream.input(), cache.cross, {rows.queries, rows.cross_keys}, stream.output()));
  stream.add(p, feed_forward_.forward(p, stream.input(), stream.output(), nullptr));
}

}  // namespace weft
