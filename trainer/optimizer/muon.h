// trainer/optimizer/muon.h: Muon (Jordan et al. 2024): momentum of matrices, orthogonalized by Newton-Schulz.
//
// Let U be Nesterov's update of the momentum of a matrix, with singular values S and vectors P, Q: U = P S Q^T. The
// iteration X <- a X + (b A + c A A) X with A = X X^T, from X = U / |U|, brings all singular values near 1, so X
// becomes about P Q^T. The update subtracts lr X times a factor that depends on the matrix's shape (MuonAdjust). Adam
// updates everything else: embeddings, output table and vectors.
//
// Q, K and V are separate matrices, and so are gate and value. A matrix split over tp is assembled on all tp ranks,
// which compute the same result. The dp ranks divide the matrices among themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/communicator.h"
#include "tensor/device_sums.h"
#include "tensor/enum_names.h"

namespace weft {

// The factor of an orthogonalized update of [A, B]: sqrt(max(1, A / B)) (Jordan), or 0.2 sqrt(max(A, B)), which gives
// it the root mean square of a typical Adam update, so that one learning rate suits both (Liu et al. 2025).
enum class MuonAdjust : uint8_t { match_rms_adamw, original };
constexpr EnumNames<MuonAdjust, 2> enum_names(MuonAdjust) {
  return {{{"match_rms_adamw", MuonAdjust::match_rms_adamw}, {"original", MuonAdjust::original}}};
}
double muon_factor(MuonAdjust adjust, int64_t rows, int64_t cols);

// One matrix of a parameter, as stored on this rank.
struct MuonMatrix {
  int64_t offset = 0;  // offset of its local part in the flat buffers
  int64_t local_rows = 0, local_cols = 0;
  int64_t rows = 0, cols = 0;  // shape of the complete matrix
  int64_t row = 0, col = 0;    // start of the local part in it
  bool is_whole() const { return rows == local_rows && cols == local_cols; }
};

class Muon {
 public:
  static bool takes(const Param& p) { return p.spec.matrix && !p.spec.pad; }
  // Returns the matrices in the order of the flat buffers. REQUIRES: the parameters are laid out.
  static std::vector<MuonMatrix> matrices_of(const ParamStore& params);
  // Returns the range of the flat buffers from the first to the last matrix, which contains only matrices.
  static ParamBuffer::Hole elements_of(const ParamStore& params);

  // Without `tp` and `dp` there is one rank. REQUIRES: all arguments outlive it.
  Muon(const ParamStore& params, MuonAdjust adjust, Communicator* tp, Communicator* dp);

  const ParamBuffer::Hole& elements() const { return elements_; }
  // Replaces the gradients of its elements, which contain updates of the momentum, by the orthogonalized updates times
  // their factors. All ranks of tp and dp call it. A dry run performs the ops of the busiest dp rank.
  void orthogonalise(Context& ctx) const;
  size_t workspace_bytes() const { return workspace_.footprint(); }  // for one matrix at a time

 private:
  void orthogonalise_matrix(Context& ctx, const MuonMatrix& m) const;

  const ParamStore& params_;
  MuonAdjust adjust_;
  DType type_;  // type of the iteration
  Communicator *tp_, *dp_;
  std::vector<MuonMatrix> matrices_;
  ParamBuffer::Hole elements_;
  Buffer workspace_;
  DeviceSums square_;
};

}  // namespace weft
