// model/decoding/slot_decoder.h: the decoder as a machine of fixed shape: so many slots a step, each a hypothesis or
// idle; and the encoder as windows of so many rows.
//
// Every GEMM has one shape whatever is decoded. A slot's keys and values lie in consecutive rows of the caches, from
// Slot::first_row on; the caller gives out rows. All memory is taken at construction; its size is found by a dry run.
// On a Context that runs dry itself none is taken, and memory_bytes() says what would be. Under tensor parallelism all
// ranks of the tp group make the same calls and get the same results.
#pragma once

#include <cstdint>
#include <vector>

#include "model/transformer.h"

namespace weft {

struct SlotDecoderShape {
  int64_t slots = 0;
  int64_t cache_rows = 0;  // that the caller gives out, of all slots together
  int64_t windows = 0, window_rows = 0;
  int64_t candidates = 0;  // how many best next pieces of a slot are wanted
};

class SlotDecoder {
 public:
  SlotDecoder(Context& ctx, const Transformer& model, const TensorParallel& tp, const SlotDecoderShape& shape);

  const SlotDecoderShape& shape() const { return shape_; }
  // Scratch memory of `ctx` not among it.
  size_t memory_bytes() const {
    return Buffer::footprint(state_.bytes, ctx_.device()) + Buffer::footprint(arena_bytes_, ctx_.device());
  }

  struct Rows {  // of the encoder's output, over all windows
    int32_t begin = 0, end = 0;
  };
  // Encodes sentences (pieces without eos) that fit into window `window` together; what it held before is gone.
  std::vector<Rows> encode(const std::vector<const std::vector<int32_t>*>& sources, int64_t window);

  struct Slot {
    int32_t id = -1;        // the piece just taken, at first bos; -1: idle
    int32_t position = 0;   // its place in the sentence
    int32_t first_row = 0;  // rows first_row .. first_row + position of the caches are this hypothesis'
    Rows source;
  };
  struct Next {  // log probabilities of what may follow
    struct Piece {
      int32_t id = 0;
      double log_prob = 0;
    };
    double end = 0;           // of the end of the sentence
    std::vector<Piece> best;  // at least the `candidates` best, eos among them if it is one, never bos; empty if idle
  };
  std::vector<Next> step(const std::vector<Slot>& slots);

  // Cache rows to[i] become what from[i] are; no row of `to` is in `from`.
  void copy_rows(const std::vector<int32_t>& from, const std::vector<int32_t>& to);

 private:
  // Of all ranks: the best columns and their values, [tp, slots, offered()], and statistics [tp, slots, 4]. A rank that
  // has fewer columns fills its part's beginning, [slots, offered_by(rank)].
  struct Offer {
    Tensor values, columns, stats;
  };
  Pass pass(Context& ctx, Arena& arena) const { return {.ctx = ctx, .arena = arena, .tp = tp_}; }
  void encode(Pass p, const std::vector<const std::vector<int32_t>*>& sources, int64_t window);
  Offer step(Pass p, const std::vector<Slot>& slots) const;
  void gather_best(Pass& p, const Tensor& logits, const Tensor& values, const Tensor& columns) const;
  void copy_rows(Pass p, const std::vector<int32_t>& from, const std::vector<int32_t>& to, int64_t capacity) const;
  int64_t offered() const;             // columns a row that a rank offers
  int64_t offered_by(int rank) const;  // the last ones may have fewer
  VocabularyRange range_of(int rank) const;
  size_t measure();  // and reserves the scratch memory of ctx_

  Context& ctx_;
  const Transformer& model_;
  const TensorParallel& tp_;
  SlotDecoderShape shape_;
  Transformer::DecodeState state_;
  Transformer::DecodeState window_;  // its caches are views of one window's rows of state_'s
  size_t arena_bytes_;
  Arena arena_;
};

}  // namespace weft
