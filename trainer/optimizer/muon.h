// trainer/optimizer/muon.h: Muon (Jordan et al. 2024): momentum of matrices, orthogonalised by Newton-Schulz
// iterations.
//
// For a matrix U, Nesterov's update of the momentum, with singular values S and vectors P, Q: U = P S Q^T. The
// iteration X <- a X + (b A + c A A) X with A = X X^T, from X = U / |U|, brings all singular values near 1, so X
// becomes about P Q^T. What is subtracted is lr times X times a factor of the matrix's shape (MuonAdjust). Everything
// here is about matrices of the model: embeddings, output table and vectors are Adam's.
//
// Q, K and V, and gate and value, each are matrices of their own. A matrix split over tp is put together on all of its
// ranks, which compute the same. The ranks of dp divide the matrices among themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/communicator.h"
#include "tensor/device_sums.h"
#include "tensor/enum_names.h"

namespace weft {

// The factor of an orthogonalised update of [A, B]: sqrt(max(1, A / B)) (Jordan), or 0.2 sqrt(max(A, B)), which gives
// it the root mean square of a usual update of Adam, so that one learning rate serves both (Liu et al. 2025).
enum class MuonAdjust : uint8_t { match_rms_adamw, original };
constexpr EnumNames<MuonAdjust, 2> enum_names(MuonAdjust) {
  return {{{"match_rms_adamw", MuonAdjust::match_rms_adamw}, {"original", MuonAdjust::original}}};
}
double muon_factor(MuonAdjust adjust, int64_t rows, int64_t cols);

// One matrix of a parameter, as this rank has it.
struct MuonMatrix {
  int64_t offset = 0;  // of its local part in the flat buffers
  int64_t local_rows = 0, local_cols = 0;
  int64_t rows = 0, cols = 0;  // whole
  int64_t row = 0, col = 0;    // where the local part is
  bool is_whole() const { return rows == local_rows && cols == local_cols; }
};

class Muon {
 public:
  static bool takes(const Param& p) { return p.spec.matrix && !p.spec.pad; }
  // In their order, which is that of the flat buffers. The parameters are laid out.
  static std::vector<MuonMatrix> matrices_of(const ParamStore& params);
  // The elements of the flat buffers from the first matrix to the end of the last one, which have no other between.
  static ParamBuffer::Hole elements_of(const ParamStore& params);

  // All outlive it. Without `tp` and `dp` there is one rank.
  Muon(const ParamStore& params, MuonAdjust adjust, Communicator* tp, Communicator* dp);

  const ParamBuffer::Hole& elements() const { return elements_; }
  // Replaces the gradients of its elements, updates of the momentum, by orthogonalised ones times their factors. All
  // ranks of tp and dp call it. A dry run has the ops of the rank of dp that has most.
  void orthogonalise(Context& ctx) const;
  size_t workspace_bytes() const { return workspace_.footprint(); }  // for one matrix at a time

 private:
  void orthogonalise_matrix(Context& ctx, const MuonMatrix& m) const;

  const ParamStore& params_;
  MuonAdjust adjust_;
  DType type_;  // of the iteration
  Communicator *tp_, *dp_;
  std::vector<MuonMatrix> matrices_;
  ParamBuffer::Hole elements_;
  Buffer workspace_;
  DeviceSums square_;
};

}  // namespace weft
