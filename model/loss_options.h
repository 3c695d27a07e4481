// model/loss_options.h: defines the loss of training.
//
// A consistency loss asks two passes over the same block to agree. The passes differ in their dropout masks, because
// the second pass has a seed of its own. With p and q as the passes' distributions for a target token, CE as the
// smoothed cross-entropy, and w as the weight, a token's loss is
//   simcut  CE(p) + w KL(p || q), where the second pass also cuts tokens of the source and of the decoder's input at
//           random: their embeddings are 0 (Gao et al. 2022, "Bi-SimCut: A simple strategy for boosting neural machine
//           translation", equation 5)
//   rdrop   (CE(p) + CE(q)) / 2 + w (KL(p || q) + KL(q || p)) / 4, half of the loss of Liang et al. 2021, "R-Drop:
//           Regularized dropout for neural networks", equation 4, so that it can be compared with that of a single pass
// Gradients flow through both passes.
#pragma once

#include <cstdint>

#include "tensor/enum_names.h"

namespace weft {

enum class Consistency : uint8_t { none, simcut, rdrop };
constexpr EnumNames<Consistency, 3> enum_names(Consistency) {
  return {{{"none", Consistency::none}, {"simcut", Consistency::simcut}, {"rdrop", Consistency::rdrop}}};
}

struct LossOptions {
  double smoothing = 0;
  Consistency consistency = Consistency::none;
  double weight = 0;    // w
  double cut_rate = 0;  // simcut: probability that a token is cut

  int num_passes() const { return consistency == Consistency::none ? 1 : 2; }  // over each block
};

}  // namespace weft
