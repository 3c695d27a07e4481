// model/layers/all_rows.h: gathers the input of a tensor-parallel layer if ranks split rows (Pass::sequence).
#pragma once

#include <optional>

#include "model/pass.h"

namespace weft {

// All-gathers own rows [R/tp, D] -> [R, D] over tp, into the arena. Returns `own` itself if rows are not split.
inline Tensor gather_rows(Pass& p, const Tensor& own) {
  if (!p.splits_rows()) return own;
  const Tensor all = p.arena.tensor({p.all_rows(own.rows()), own.cols()}, own.dtype);
  p.tp.gather(p.ctx, own, all);
  return all;
}

// Gathers rows, and holds them as long as this object lives. The backward pass gathers again, so the forward pass does
// not keep gathered rows.
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
