// model/block.cpp: encoder and decoder blocks.
#include "model/block.h"

namespace weft {
namespace {

template <typename Saved, typename Part>
Part* part_of(Saved* saved, Part Saved::*part) {  // nullptr stays nullptr: inference saves nothing
  return saved ? &(saved->*part) : nullptr;
}

}  // namespace

EncoderBlock::EncoderBlock(ParamStore& params, const std::string& name, const ModelConfig& c)
    : self_(params, name + ".self_attention", c, /*causal=*/false),
      norm1_(params, name + ".self_attention.norm", c.width),
      feed_forward_(params, name + ".feed_forward", c),
      norm2_(params, name + ".feed_forward.norm", c.width),
      place_(c.norm),
      first_(params.find(name + ".self_attention.qkv.weight")) {}

void EncoderBlock::forward(Pass& p, const Tensor& x, const SequenceRanges& rows, const Tensor& y, Saved* saved) const {
  ResidualStream stream(p, norms(), x, y, part_of(saved, &Saved::residual));
  self_.forward(p, stream, rows, part_of(saved, &Saved::self));
  feed_forward_.forward(p, stream, part_of(saved, &Saved::feed_forward));
  if (saved) saved->x = x;
}

void EncoderBlock::backward(Pass& p, const Tensor& d, const SequenceRanges& rows, const Saved& s) const {
  ArenaScope scope(p.arena);
  ResidualGradient gradient(p, norms(), d, s.residual);
  feed_forward_.backward(p, gradient, s.feed_forward);
  self_.backward(p, gradient, rows, s.self);
  gradient.finish(p);
}

DecoderBlock::DecoderBlock(ParamStore& params, const std::string& name, const ModelConfig& c)
    : self_(params, name + ".self_attention", c, /*causal=*/true),
      norm1_(params, name + ".self_attention.norm", c.width),
      cross_(params, name + ".cross_attention", c),
      norm2_(params, name + ".cross_attention.norm", c.width),
      feed_forward_(params, name + ".feed_forward", c),
      norm3_(params, name + ".feed_forward.norm", c.width),
      place_(c.norm),
      first_(params.find(name + ".self_attention.qkv.weight")) {}

void DecoderBlock::forward(Pass& p, const Tensor& x, const Tensor& memory, const SequenceRanges& target,
                           const SequenceRanges& source, const Tensor& y, Saved* saved) const {
  ResidualStream stream(p, norms(), x, y, part_of(saved, &Saved::residual));
  self_.forward(p, stream, target, part_of(saved, &Saved::self));
  cross_.forward(p, stream, memory, target, source, part_of(saved, &Saved::cross));
  feed_forward_.forward(p, stream, part_of(saved, &Saved::feed_forward));
  if (saved) saved->x = x;
}

void DecoderBlock::backward(Pass& p, const Tensor& d, const SequenceRanges& target, const SequenceRanges& source,
                            const Saved& s, const Tensor& d_memory) const {
  ArenaScope scope(p.arena);
  ResidualGradient gradient(p, norms(), d, s.residual);
  feed_forward_.backward(p, gradient, s.feed_forward);
  cross_.backward(p, gradient, target, source, s.cross, d_memory);
  self_.backward(p, gradient, target, s.self);
  gradient.finish(p);
}

void DecoderBlock::fill_cross_cache(Pass& p, const Tensor& memory, const Cache& cache) const {
  cross_.fill_cache(p, memory, cache.cross);
}

void DecoderBlock::step(Pass& p, const Tensor& x, const Cache& cache, const StepRows& rows, const Tensor& y) const {
  ArenaScope scope(p.arena);
  ResidualStream stream(p, norms(), x, y, nullptr);
  self_.step(p, stream, cache.self, rows.cache_rows, rows.queries, rows.self_keys);
  cross_.step(p, stream, cache.cross, rows.queries, rows.cross_keys);
  feed_forward_.forward(p, stream, nullptr);
}

}  // namespace weft
