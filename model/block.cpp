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
      norm1_(params, name + ".self_attention.norm", c.width, c.norm),
      feed_forward_(params, name + ".feed_forward", c),
      norm2_(params, name + ".feed_forward.norm", c.width, c.norm),
      first_(params.find(name + ".self_attention.qkv.weight")) {}

void EncoderBlock::forward(Pass& p, const Tensor& x, const Segments& rows, const Tensor& y, Saved* saved) const {
  const Tensor h = p.arena.like(x);
  norm1_.forward(p, x, h, part_of(saved, &Saved::norm1),
                 [&](const Tensor& in, const Tensor& residual, const Tensor& out) {
                   self_.forward(p, in, residual, rows, out, part_of(saved, &Saved::self));
                 });
  norm2_.forward(p, h, y, part_of(saved, &Saved::norm2),
                 [&](const Tensor& in, const Tensor& residual, const Tensor& out) {
                   feed_forward_.forward(p, in, residual, out, part_of(saved, &Saved::feed_forward));
                 });
  if (saved) saved->x = x;
}

void EncoderBlock::backward(Pass& p, const Tensor& d, const Segments& rows, const Saved& s) const {
  norm2_.backward(p, d, s.norm2,
                  [&](const Tensor& d_y, const Tensor& d_x) { feed_forward_.backward(p, d_y, s.feed_forward, d_x); });
  norm1_.backward(p, d, s.norm1,
                  [&](const Tensor& d_y, const Tensor& d_x) { self_.backward(p, d_y, rows, s.self, d_x); });
}

DecoderBlock::DecoderBlock(ParamStore& params, const std::string& name, const ModelConfig& c)
    : self_(params, name + ".self_attention", c, /*causal=*/true),
      norm1_(params, name + ".self_attention.norm", c.width, c.norm),
      cross_(params, name + ".cross_attention", c),
      norm2_(params, name + ".cross_attention.norm", c.width, c.norm),
      feed_forward_(params, name + ".feed_forward", c),
      norm3_(params, name + ".feed_forward.norm", c.width, c.norm),
      first_(params.find(name + ".self_attention.qkv.weight")) {}

void DecoderBlock::forward(Pass& p, const Tensor& x, const Tensor& memory, const Segments& target,
                           const Segments& source, const Tensor& y, Saved* saved) const {
  const Tensor h1 = p.arena.like(x), h2 = p.arena.like(x);
  norm1_.forward(p, x, h1, part_of(saved, &Saved::norm1),
                 [&](const Tensor& in, const Tensor& residual, const Tensor& out) {
                   self_.forward(p, in, residual, target, out, part_of(saved, &Saved::self));
                 });
  norm2_.forward(p, h1, h2, part_of(saved, &Saved::norm2),
                 [&](const Tensor& in, const Tensor& residual, const Tensor& out) {
                   cross_.forward(p, in, residual, memory, target, source, out, part_of(saved, &Saved::cross));
                 });
  norm3_.forward(p, h2, y, part_of(saved, &Saved::norm3),
                 [&](const Tensor& in, const Tensor& residual, const Tensor& out) {
                   feed_forward_.forward(p, in, residual, out, part_of(saved, &Saved::feed_forward));
                 });
  if (saved) saved->x = x;
}

void DecoderBlock::backward(Pass& p, const Tensor& d, const Segments& target, const Segments& source, const Saved& s,
                            const Tensor& d_memory) const {
  norm3_.backward(p, d, s.norm3,
                  [&](const Tensor& d_y, const Tensor& d_x) { feed_forward_.backward(p, d_y, s.feed_forward, d_x); });
  norm2_.backward(p, d, s.norm2, [&](const Tensor& d_y, const Tensor& d_x) {
    cross_.backward(p, d_y, target, source, s.cross, d_x, d_memory);
  });
  norm1_.backward(p, d, s.norm1,
                  [&](const Tensor& d_y, const Tensor& d_x) { self_.backward(p, d_y, target, s.self, d_x); });
}

void DecoderBlock::fill_cross_cache(Pass& p, const Tensor& memory, const Cache& cache) const {
  cross_.fill_cache(p, memory, cache.cross);
}

void DecoderBlock::step(Pass& p, const Tensor& x, const Cache& cache, const StepRows& rows, const Tensor& y) const {
  ArenaScope scope(p.arena);
  const Tensor h1 = p.arena.like(x), h2 = p.arena.like(x);
  norm1_.forward(p, x, h1, nullptr, [&](const Tensor& in, const Tensor& residual, const Tensor& out) {
    self_.step(p, in, residual, cache.self, rows.cache_rows, rows.queries, rows.self_keys, out);
  });
  norm2_.forward(p, h1, h2, nullptr, [&](const Tensor& in, const Tensor& residual, const Tensor& out) {
    cross_.step(p, in, residual, cache.cross, rows.queries, rows.cross_keys, out);
  });
  norm3_.forward(p, h2, y, nullptr, [&](const Tensor& in, const Tensor& residual, const Tensor& out) {
    feed_forward_.forward(p, in, residual, out, nullptr);
  });
}

}  // namespace weft
