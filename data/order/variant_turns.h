// data/order/variant_turns.h: selects the variant of a corpus's pairs that an epoch uses; the variants take turns.
//
// All variants of a pair have the same distribution (docs/packing.md), so one variant serves all pairs of an epoch, and
// reading costs the same as without variants. The variants follow a fixed cycle, so any `count` consecutive epochs use
// each variant once, and a text is repeated as late as possible.
#pragma once

#include <cstdint>

#include "tensor/random.h"

namespace weft {

class VariantTurns {
 public:
  // `corpus` is the corpus's number in the run, and `count` is Manifest::num_variants().
  VariantTurns(uint64_t seed, int64_t corpus, int64_t count)
      : first_(philox(seed, static_cast<uint64_t>(corpus), 0, purpose_of("data.variant")).v[0] % count),
        count_(count) {}

  int64_t at(int64_t epoch) const { return (first_ + epoch % count_) % count_; }

 private:
  int64_t first_, count_;
};

}  // namespace weft
