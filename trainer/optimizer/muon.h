// trainer/optimizer/muon.h: implements Muon (Jordan et al. 2024), which orthogonalizes momentum updates.
//
// Let U = P S Q^T be the singular value decomposition of the Nesterov momentum update of a matrix. The Newton-Schulz
// iteration X <- a X + (b A + c A A) X with A = X X^T starts from X = U / |U| and brings all singular values near 1, so
// X approaches P Q^T. The update subtracts lr X times a factor that depends on the matrix's shape (MuonAdjust). Adam
// updates everything else: embeddings, output table and vectors.
//
// Fused parameters count as separate matrices: Q, K and V, or gate and value. If a matrix is split over tp, all tp
// ranks assemble the whole matrix and compute the same result. The dp ranks divide the matrices among themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/communicator.h"
#include "tensor/device_sums.h"
#include "tensor/enum_names.h"

namespace weft {

// The factor of an update of an A x B matrix: `original` is sqrt(max(1, A / B)), and `match_rms_adamw` is
// 0.2 sqrt(max(A, B)). The latter matches the RMS of typical Adam updates, so one rate suits both (Liu et al. 2025).
enum class MuonAdjust : uint8_t { match_rms_adamw, original };
constexpr EnumNames<MuonAdjust, 2> enum_names(MuonAdjust) {
  return {{{"match_rms_adamw", MuonAdjust::match_rms_adamw}, {"original", MuonAdjust::original}}};
}
double muon_factor(MuonAdjust adjust, int64_t rows, int64_t cols);

// One matrix of a parameter, as stored on this rank.
struct MuonMatrix {
  int64_t offset = 0;  // offset of the local part in the flat buffers
  int64_t local_rows = 0, local_cols = 0;
  int64_t rows = 0, cols = 0;  // shape of the complete matrix
  int64_t row = 0, col = 0;    // position of the local part in the complete matrix
  bool is_whole() const { return rows == local_rows && cols == local_cols; }
};

class Muon {
 public:
  static bool takes(const Param& p) { return p.spec.matrix && !p.spec.pad && p.trains(); }
  // Returns the matrices in the order of the flat buffers. REQUIRES: the parameters are laid out.
  static std::vector<MuonMatrix> matrices_of(const ParamStore& params);
  // Returns the range of the flat buffers from the first to the last matrix, which contains only matrices.
  static ParamBuffer::Hole elements_of(const ParamStore& params);

  // nullptr for `tp` or `dp` means that the group has one rank. REQUIRES: all arguments outlive this object.
  Muon(const ParamStore& params, MuonAdjust adjust, Communicator* tp, Communicator* dp);

  const ParamBuffer::Hole& elements() const { return elements_; }
  // Replaces the momentum updates, which the gradients of elements() contain, with the orthogonalized updates times
  // their factors. All ranks of tp and dp must call this. A dry run performs the ops of the busiest dp rank.
  void orthogonalise(Context& ctx) const;
  size_t workspace_bytes() const { return workspace_.footprint(); }  // enough for one matrix at a time

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
