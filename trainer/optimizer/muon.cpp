// trainer/optimizer/muon.cpp: assembles matrices that are split over ranks, and orthogonalizes them.
#include "trainer/optimizer/muon.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int kIterations = 5;
constexpr float kA = 3.4445f, kB = -4.7750f, kC = 2.0315f;  // Jordan et al. 2024
constexpr float kEps = 1e-7f;                               // minimum norm

// Returns the type of the iteration: bf16, which is much faster, if the model uses bf16 on GPUs, otherwise f32.
DType iteration_type(const ParamStore& params) {
  return params.device() == Device::cuda && params.compute_dtype() == DType::bf16 ? DType::bf16 : DType::f32;
}

// Lays out the memory to orthogonalize one matrix: the matrix in f32, x and a product in the iteration's type, and two
// Gram matrices. All parts start on cache lines.
class Workspace {
 public:
  Workspace(DType type, int64_t rows, int64_t cols) : type_(type), rows_(rows), cols_(cols) {}
  int64_t side() const { return std::min(rows_, cols_); }
  size_t bytes() const { return end_of(4); }

  Tensor whole(const Tensor& memory) const { return at(memory, 0, rows_, cols_, DType::f32); }
  Tensor x(const Tensor& memory) const {  // with f32, this is the memory of whole()
    return type_ == DType::f32 ? whole(memory) : at(memory, end_of(3), rows_, cols_, type_);
  }
  Tensor product(const Tensor& memory) const { return at(memory, end_of(0), rows_, cols_, type_); }
  Tensor gram(const Tensor& memory) const { return at(memory, end_of(1), side(), side(), type_); }
  Tensor gram_square(const Tensor& memory) const { return at(memory, end_of(2), side(), side(), type_); }

 private:
  static size_t rounded(int64_t numel, DType type) {
    return (static_cast<size_t>(numel) * size_of(type) + 255) / 256 * 256;
  }
  // The order of the parts in memory is whole, product, gram, gram_square, x.
  size_t end_of(int part) const {
    const size_t matrix = rounded(rows_ * cols_, type_), square = rounded(side() * side(), type_);
    const size_t sizes[] = {rounded(rows_ * cols_, DType::f32), matrix, square, square,
                            type_ == DType::f32 ? 0 : matrix};
    size_t end = 0;
    for (int i = 0; i <= part; ++i) end += sizes[i];
    return end;
  }
  static Tensor at(const Tensor& memory, size_t begin, int64_t rows, int64_t cols, DType type) {
    void* const data = memory.data == nullptr ? nullptr : static_cast<char*>(memory.data) + begin;
    return {data, {rows, cols}, type, memory.device};
  }

  DType type_;
  int64_t rows_, cols_;
};

// Orthogonalizes w.x(memory) in place. REQUIRES: the norm of x is at most 1.
void iterate(Context& ctx, const Workspace& w, const Tensor& memory) {
  const Tensor x = w.x(memory), y = w.product(memory), gram = w.gram(memory), square = w.gram_square(memory);
  const bool wide = x.rows() <= x.cols();  // if wide, the smaller Gram matrix is x x^T, otherwise x^T x
  for (int i = 0; i < kIterations; ++i) {
    ops::gemm(ctx, {.a = x, .b = x, .c = gram, .trans_a = !wide, .trans_b = wide});
    ops::gemm(ctx, {.a = gram, .b = gram, .c = square});
    ops::scale_add(ctx, {.x = gram, .y = square, .alpha = kB, .beta = kC});
    if (wide)
      ops::gemm(ctx, {.a = square, .b = x, .c = y});
    else
      ops::gemm(ctx, {.a = x, .b = square, .c = y});
    ops::scale_add(ctx, {.x = y, .y = x, .alpha = 1, .beta = kA});
  }
}

size_t largest_workspace(const std::vector<MuonMatrix>& matrices, DType type) {
  size_t bytes = 0;
  for (const MuonMatrix& m : matrices) bytes = std::max(bytes, Workspace(type, m.rows, m.cols).bytes());
  return bytes;
}

// Returns the FLOPs of an iteration's products.
int64_t work_of(const MuonMatrix& m) {
  const int64_t side = std::min(m.rows, m.cols), length = std::max(m.rows, m.cols);
  return 2 * side * side * (2 * length + side);
}

struct Share {                 // consecutive matrices of a dp rank
  size_t first = 0, last = 0;  // last is one past the end
  int64_t work = 0;
};

// Gives matrices to each rank until the rank's work would exceed `most`.
std::vector<Share> shares_up_to(const std::vector<MuonMatrix>& matrices, int64_t most) {
  std::vector<Share> shares(1);
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (shares.back().work + work_of(matrices[i]) > most && shares.back().work > 0) shares.push_back({.first = i});
    shares.back().last = i + 1, shares.back().work += work_of(matrices[i]);
  }
  return shares;
}

// Returns the shares that minimize the work of the busiest rank. The last ranks may get no matrices.
std::vector<Share> shares_of(const std::vector<MuonMatrix>& matrices, int ranks) {
  int64_t least = 0, enough = 0;
  for (const MuonMatrix& m : matrices) least = std::max(least, work_of(m)), enough += work_of(m);
  while (least < enough) {
    const int64_t middle = least + (enough - least) / 2;
    if (std::ssize(shares_up_to(matrices, middle)) <= ranks)
      enough = middle;
    else
      least = middle + 1;
  }
  std::vector<Share> shares = shares_up_to(matrices, enough);
  shares.resize(static_cast<size_t>(ranks));
  return shares;
}

}  // namespace

double muon_factor(MuonAdjust adjust, int64_t rows, int64_t cols) {
  const auto a = static_cast<double>(rows), b = static_cast<double>(cols);
  return adjust == MuonAdjust::original ? std::sqrt(std::max(1.0, a / b)) : 0.2 * std::sqrt(std::max(a, b));
}

std::vector<MuonMatrix> Muon::matrices_of(const ParamStore& params) {
  std::vector<MuonMatrix> all;
  for (const Param& p : params.params()) {
    if (!takes(p)) continue;
    const int64_t rows = p.weight.matrix.rows() / p.spec.fused, cols = p.weight.matrix.cols();
    const bool splits_rows = p.spec.tp_dim == 0 || p.spec.fused > 1, splits_cols = p.spec.tp_dim > 0 && !splits_rows;
    for (int64_t i = 0; i < p.spec.fused; ++i)
      all.push_back({.offset = p.offset + i * rows * cols,
                     .local_rows = rows,
                     .local_cols = cols,
                     .rows = splits_rows ? rows * params.tp_size() : rows,
                     .cols = splits_cols ? cols * params.tp_size() : cols,
                     .row = splits_rows ? rows * params.tp_rank() : 0,
                     .col = splits_cols ? cols * params.tp_rank() : 0});
  }
  return all;
}

ParamBuffer::Hole Muon::elements_of(const ParamStore& params) {
  ParamBuffer::Hole hole;
  int64_t end = 0;
  for (const Param& p : params.params()) {
    if (takes(p)) {
      if (end == 0) hole.begin = p.offset;
      end = p.offset + p.numel();
    } else {
      const bool between = p.spec.matrix && p.trains() && end > 0 && p.offset < end;
      require(!between, ErrorKind::internal, "a table lies between the matrices");
    }
  }
  hole.count = end - hole.begin;
  return hole;
}

Muon::Muon(const ParamStore& params, MuonAdjust adjust, Communicator* tp, Communicator* dp)
    : params_(params),
      adjust_(adjust),
      type_(iteration_type(params)),
      tp_(tp),
      dp_(dp),
      matrices_(matrices_of(params)),
      elements_(elements_of(params)),
      workspace_(params.buffer_of(largest_workspace(matrices_, type_))),
      square_(1, params.device()) {
  require(params.tp_size() == 1 || tp != nullptr, ErrorKind::internal, "split matrices need the tp communicator");
}

// Orthogonalizes this rank's share of the matrices, then gathers the shares of all dp ranks.
void Muon::orthogonalise(Context& ctx) const {
  const int ranks = dp_ == nullptr ? 1 : dp_->size(), own = dp_ == nullptr ? 0 : dp_->rank();
  const std::vector<Share> shares = shares_of(matrices_, ranks);
  const Share& share = ctx.dry_run() ? std::ranges::max(shares, {}, &Share::work) : shares[static_cast<size_t>(own)];
  for (size_t i = share.first; i < share.last; ++i) orthogonalise_matrix(ctx, matrices_[i]);
  if (ranks == 1) return;
  std::vector<Tensor> parts;  // empty for a rank without a matrix
  for (const Share& of_rank : shares) {
    const MuonMatrix first = of_rank.work > 0 ? matrices_[of_rank.first] : MuonMatrix{};
    const MuonMatrix last = of_rank.work > 0 ? matrices_[of_rank.last - 1] : MuonMatrix{};
    const int64_t count = last.offset + last.local_rows * last.local_cols - first.offset;
    parts.push_back(params_.grads().slice_rows(first.offset, count));
  }
  dp_->all_gather_v(parts);
}

void Muon::orthogonalise_matrix(Context& ctx, const MuonMatrix& m) const {
  const Workspace w(type_, m.rows, m.cols);
  const Tensor memory = workspace_.tensor({static_cast<int64_t>(workspace_.bytes() / sizeof(float))});
  const Tensor local = params_.grads()
                           .slice_rows(m.offset, m.local_rows * m.local_cols)
                           .with_shape({m.local_rows, m.local_cols});  // this rank's part of the update
  const auto own = [&](const Tensor& t) { return t.slice_rows(m.row, m.local_rows).slice_cols(m.col, m.local_cols); };
  const Tensor whole = m.is_whole() ? local : w.whole(memory);
  if (!m.is_whole()) {
    ops::fill(ctx, {.x = whole.with_shape({whole.numel()})});
    ops::scale_add(ctx, {.x = local, .y = own(whole)});
    if (tp_ != nullptr) tp_->all_reduce(whole);  // each element comes from one rank, and all other ranks add 0
  }
  square_.clear(ctx);
  ops::sum_squares(ctx, {.x = whole.with_shape({whole.numel()}), .y = square_[0]});
  ops::scale_add(ctx, {.x = whole, .y = w.x(memory), .norm_square = square_[0], .eps = kEps});
  iterate(ctx, w, memory);
  const double factor = muon_factor(adjust_, m.rows, m.cols);
  ops::scale_add(ctx, {.x = own(w.x(memory)), .y = local, .alpha = static_cast<float>(factor)});
}

}  // namespace weft
