// model/decoding/slot_decoder.h: runs decoder and encoder with fixed shapes. A decoding step has a fixed number of
// slots, each of which is idle or holds one hypothesis. An encoder window has a fixed number of rows.
//
// So the shape of a GEMM does not depend on the sentences. Idle slots and unused rows are left out only if the weights
// include copies for inference, because then a row's bits do not depend on the number of rows. A slot's keys and values
// are in consecutive cache rows from Slot::first_row on, which the caller assigns. The constructor measures all memory
// in a dry run and allocates it. On a dry-run Context, it only measures. REQUIRES: all ranks of a tp group make the
// same calls, which return the same results.
#pragma once

#include <cstdint>
#include <vector>

#include "model/decoding/token_rules.h"
#include "model/transformer.h"

namespace weft {

struct SlotDecoderShape {
  int64_t slots = 0;
  int64_t cache_rows = 0;  // rows of all slots together, which the caller assigns to slots
  int64_t windows = 0, window_rows = 0;
  int64_t candidates = 0;   // number of best next tokens per slot
  bool whole_rows = false;  // return the log probabilities of all tokens instead of candidates
};

class SlotDecoder {
 public:
  // `rules` may have no classes: then every token except bos is allowed.
  SlotDecoder(Context& ctx, const Transformer& model, const TensorParallel& tp, const SlotDecoderShape& shape,
              const TokenRules& rules);

  const SlotDecoderShape& shape() const { return shape_; }
  // Returns the bytes of all memory except the scratch memory of `ctx`.
  size_t memory_bytes() const {
    return Buffer::footprint(state_.bytes, ctx_.device()) + Buffer::footprint(arena_bytes_, ctx_.device()) +
           Buffer::footprint(classes_bytes(), ctx_.device());
  }

  struct Rows {  // rows of the encoder output, counted over all windows
    int32_t begin = 0, end = 0;
  };
  // Encodes sentences (tokens without eos) into window `window`, which must be large enough, and replaces its contents.
  std::vector<Rows> encode(const std::vector<const std::vector<int32_t>*>& sources, int64_t window);

  struct Slot {
    int32_t id = -1;        // the last token, at first bos; -1: idle
    int32_t position = 0;   // the last token's position in its sentence
    int32_t first_row = 0;  // rows first_row .. first_row + position of the caches belong to this hypothesis
    Rows source;
    uint32_t allowed = ~0u;  // classes of the next token (token_rules.h)
  };
  struct Next {  // log probabilities of the next token
    struct Piece {
      int32_t id = 0;
      double log_prob = 0;
    };
    double end = 0;                 // log probability of eos
    std::vector<Piece> best;        // at least the `candidates` best allowed ones, if there are as many; empty if idle
    std::vector<double> log_probs;  // with whole_rows, instead of `best`: of every id, allowed or not; empty if idle
  };
  std::vector<Next> step(const std::vector<Slot>& slots);

  // Copies cache rows from[i] to to[i]. REQUIRES: no row of `to` is in `from`.
  void copy_rows(const std::vector<int32_t>& from, const std::vector<int32_t>& to);

 private:
  // Contains all ranks' best columns and their values, [tp, rows, offered()], and statistics [tp, rows, 4]. A rank with
  // fewer columns fills only the start of its part, [rows, offered_by(rank)]. A row is a slot; idle slots may be
  // omitted. With whole_rows, the values are the logits of all columns, [tp, rows, columns of a rank].
  struct Offer {
    Tensor values, columns, stats;
  };
  struct HostOffer {
    std::vector<float> values, stats;
    std::vector<int32_t> columns;
    int64_t rows;
  };
  Pass pass(Context& ctx, Arena& arena) const { return {.ctx = ctx, .arena = arena, .tp = tp_}; }
  void encode(Pass p, const std::vector<const std::vector<int32_t>*>& sources, int64_t window);
  Offer step(Pass p, const std::vector<Slot>& slots) const;
  void gather_best(Pass& p, const Tensor& logits, const Tensor& allowed, const Offer& offer) const;
  Tensor gather_rows(Pass& p, const Tensor& logits) const;
  std::vector<Next::Piece> best_of_row(const HostOffer& all, int64_t row, double log_sum) const;
  std::vector<double> whole_row(const HostOffer& all, int64_t row, double log_sum) const;
  void copy_rows(Pass p, const std::vector<int32_t>& from, const std::vector<int32_t>& to, int64_t capacity) const;
  int64_t offered() const;             // columns that a rank offers per row
  int64_t offered_by(int rank) const;  // columns that `rank` offers: the last ranks may have fewer
  VocabularyRange range_of(int rank) const;
  bool leaves_out() const { return model_.has_inference_weights(); }
  size_t classes_bytes() const { return static_cast<size_t>(model_.output().columns()) * sizeof(int32_t); }
  Tensor upload_classes(const TokenRules& rules);
  size_t measure();  // also reserves the scratch memory of ctx_

  Context& ctx_;
  const Transformer& model_;
  const TensorParallel& tp_;
  SlotDecoderShape shape_;
  Transformer::DecodeState state_;
  Transformer::DecodeState window_;  // its caches are views of one window's rows in state_
  Buffer classes_buffer_;
  Tensor classes_;  // [columns of this rank] i32, or empty
  size_t arena_bytes_;
  Arena arena_;
};

}  // namespace weft
