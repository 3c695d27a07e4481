// data/order/variant_turns.h: which variant of its pairs a corpus gives in each epoch: all in turn.
//
// The variants of a pair are drawn alike (docs/packing.md), so one of them serves all pairs of an epoch: reading costs
// what it costs without variants. In turn, and not at random: any `count` consecutive epochs of a pair have each
// variant once, so a text comes back as late as possible.
#pragma once

#include <cstdint>

#include "tensor/random.h"

namespace weft {

class VariantTurns {
 public:
  // `corpus`: its number in the run; `count`: Manifest::num_variants().
  VariantTurns(uint64_t seed, int64_t corpus, int64_t count)
      : first_(philox(seed, static_cast<uint64_t>(corpus), 0, purpose_of("data.variant")).v[0] % count),
        count_(count) {}

  int64_t at(int64_t epoch) const { return (first_ + epoch % count_) % count_; }

 private:
  int64_t first_, count_;
};

}  // namespace weft
