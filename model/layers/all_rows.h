// model/layers/all_rows.h: the whole input of a tensor-parallel layer, where ranks split rows (Pass::sequence).
#pragma once

#include <optional>

#include "model/pass.h"

namespace weft {

// Own rows [R/tp, D] -> [R, D] in the arena, all-gathered over tp. Without split rows, `own` itself.
inline Tensor gather_rows(Pass& p, const Tensor& own) {
  if (!p.splits_rows()) return own;
  const Tensor all = p.arena.tensor({p.all_rows(own.rows()), own.cols()}, own.dtype);
  p.tp.gather(p.ctx, own, all);
  return all;
}

// The same for as long as this object lives. The backward pass gathers again instead of keeping what the forward pass
// gathered.
class AllRows {
 public:
  AllRows(Pass& p, const Tensor& own) {
    if (p.splits_rows()) scope_.emplace(p.arena);
    all_ = gather_rows(p, own);
  }
  operator const Tensor&() const { return all_; }

 private:
  std::optional<ArenaScope> scope_;
  Tensor all_;
};

}  // namespace weft
