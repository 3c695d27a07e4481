// model/parameters/param_store.h: stores the parameters of a model. Each parameter is declared once. All parameters
// share flat memory, and layers get views of it.
//
// A declaration gives a parameter's name, its global shape, the dimension split by tensor parallelism, its initial
// value, and whether weight decay applies. Other code does not know how parameters are split. Fused tensors keep all
// their dimensions, so that a rank's slice is always a plain slice of one dimension. Values and gradients are two flat
// f32 buffers, which contain first the matrices, in order of declaration, then the vectors (biases and norms). GEMMs
// read copies, which are rounded in mixed precision, and packed where that is faster. Code that writes values must
// update the copies with round_values() or refresh().
//
// Frozen parameters (frozen_names.h) lie outside of these buffers, so that optimizer, gradient sums and shards know
// only what trains. Frozen matrices have no gradient, and layers do not compute it. The gradients of frozen vectors,
// which kernels compute along with others, are written to memory that nobody reads.
//
// With a sharded optimizer (parallel/shard.h), a rank keeps f32 values only of its own shard of the matrices. In mixed
// precision, layers then read only the rounded copies. A matrix's `value` shares the memory of the gradient, which is
// free between steps, so gather the values before you read `value`.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "model/parameters/frozen_names.h"
#include "tensor/memory.h"
#include "tensor/ops.h"

namespace weft {

struct InitSpec {
  ops::Init::Kind kind = ops::Init::Kind::constant;
  float value = 0;
  static InitSpec constant(float c) { return {ops::Init::Kind::constant, c}; }
  static InitSpec normal(float stddev) { return {ops::Init::Kind::normal, stddev}; }
  // Returns U(-a, a) with a = sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010).
  static InitSpec xavier(int64_t fan_in, int64_t fan_out);
};

struct ParamSpec {
  std::string name;
  Shape shape;       // over all ranks
  int tp_dim = -1;   // the dimension split over tp; -1: replicated on every rank
  bool pad = false;  // vocabulary tables: rank r holds rows [r * ceil(n / tp), ...), with zeros after the last entry
  InitSpec init = {};
  int64_t fused = 1;    // number of equal matrices in the tensor, one after the other: Q, K and V, or gate and value
  bool decay = false;   // true if weight decay applies, as to matrices, but not to biases and norms
  bool matrix = false;  // a matrix or vocabulary table, whose copies layers read; all other parameters are read in f32
  // True if the gradient sums over activation rows. If ranks split rows (pass.h), each tp rank holds a part of the sum.
  bool sums_rows = false;
  bool adapter = false;  // trains even if its name is frozen
  bool trains = true;    // false if frozen; the store sets it
};

struct Param {  // a parameter as layers see it
  ParamSpec spec;
  Tensor value, grad;  // local slice, f32; views into the flat buffers; a frozen matrix has no `grad`
  Tensor compute;      // read by look-ups: bf16 or f16, or `value`
  ops::Weight weight;  // read by GEMMs: `compute` as a matrix [out, in]; empty if no GEMM reads it
  int64_t offset = 0;  // elements from the start of the flat buffers; frozen parameters follow them
  int64_t begin = 0;   // where the local slice starts in dimension tp_dim
  int64_t numel() const { return value.numel(); }
  bool trains() const { return spec.trains; }
  Tensor weight_grad() const { return grad.with_shape(weight.matrix.shape); }
};

int64_t int8_row(const Param& p);  // elements of a matrix that share a scale in int8: a row as GEMMs read it

// Adjacent parameters that are treated the same way. On a GPU, one launch processes the range. On a CPU, a range is a
// single parameter, so that the parameter is packed while it is in the cache.
struct ParamRange {
  int64_t begin = 0, end = 0;              // elements of the flat buffers
  size_t first_param = 0, last_param = 0;  // last_param: one past the last index
  bool has_property = false;               // true if they have the property passed to ranges()
};

// A flat f32 buffer with the layout of the parameters, in one tensor [numel] or two. The elements of `absent`, a range
// of the matrices, have no memory.
struct ParamBuffer {
  struct Hole {
    int64_t begin = 0, count = 0;
  };
  ParamBuffer(const Tensor& flat) : matrices(flat) {}  // NOLINT(google-explicit-constructor): both in one tensor
  ParamBuffer(const Tensor& matrices, const Tensor& vectors) : matrices(matrices), vectors(vectors) {}
  int64_t numel() const { return matrices.numel() + absent.count + vectors.numel(); }  // without `frozen`
  bool has(const Param& p) const {
    if (!p.trains()) return !frozen.empty();
    return p.offset < absent.begin || p.offset >= absent.begin + absent.count;
  }
  Tensor part(int64_t begin, int64_t count) const {
    const int64_t first = matrices.numel() + absent.count;
    if (begin >= numel()) return frozen.slice_rows(begin - numel(), count);
    if (begin >= first) return vectors.slice_rows(begin - first, count);
    return matrices.slice_rows(begin < absent.begin + absent.count ? begin : begin - absent.count, count);
  }
  Tensor of(const Param& p) const { return part(p.offset, p.numel()); }

  Tensor matrices, vectors;
  Tensor frozen;  // values of the frozen parameters; empty in buffers of other kinds
  Hole absent;
};

// inference: no gradients and shards, but inference copies from allocate() on.
// int8_inference: the same with copies in int8. round_values() also rounds the f32 values of all matrices in the same
// way, so that look-ups and GEMMs read the same numbers. REQUIRES: f32, a CPU, and no tensor parallelism.
// planning: as training, but without memory, and with plan() in place of allocate().
enum class ParamUse : uint8_t { training, inference, int8_inference, planning };

struct ParamBytes {  // bytes of a store
  size_t values = 0, gradients = 0;
  size_t frozen = 0;               // f32 values that do not train
  size_t rounded = 0, packed = 0;  // bytes of the copies
};

class ParamStore {
 public:
  // `compute` is f32, or bf16 or f16 for mixed precision.
  ParamStore(int tp_rank, int tp_size, DType compute = DType::f32, Device device = Device::cpu,
             ParamUse use = ParamUse::training, FrozenNames frozen = {})
      : tp_rank_(tp_rank),
        tp_size_(tp_size),
        compute_(compute),
        device_(device),
        use_(use == ParamUse::planning ? ParamUse::training : use),
        planned_(use == ParamUse::planning),
        frozen_names_(std::move(frozen)) {}

  const Param* declare(ParamSpec spec);  // before lay_out(); throws if the name is a duplicate or the split impossible
  void use_as_matrix(const Param* p, int64_t rows);  // GEMMs read p as `rows` local rows; call it before allocate()
  void require_memory() const;                       // throws if the host cannot hold values, gradients and copies
  // Fixes the offsets. REQUIRES: a single call, after all declarations. Pads the matrices so that each of `shards`
  // ranks can own an equal part.
  void lay_out(int shards = 1);
  void allocate(int shards = 1);  // lays out, and allocates the flat buffers
  void plan(int shards = 1);      // the same without memory, for dry runs
  void initialize(Context& ctx, uint64_t seed);
  void round_values(Context& ctx) const;                             // updates all copies after values were written
  void round_values(Context& ctx, const ParamBuffer& values) const;  // fills the copies from other values
  void round_frozen(Context& ctx) const;                             // updates the copies of frozen values
  void refresh(Context& ctx) const;                                  // updates only the packed copies
  void refresh(Context& ctx, const ParamRange& written) const;       // the same for those of `written` that train
  // Inference copies are weights packed for GEMMs of few rows. While they exist, all GEMMs x W^T read them, which
  // changes rounding. refresh() and round_values() fill them. On devices without such GEMMs, they have no elements.
  void add_inference_copies();
  void remove_inference_copies();   // keeps their memory for the next time
  void reserve_inference_copies();  // allocates this memory in advance
  size_t inference_bytes() const;   // of all inference copies

  const std::deque<Param>& params() const { return params_; }
  const Param* find(const std::string& name) const;  // nullptr if there is none
  template <typename Property>
  std::vector<ParamRange> ranges(const Property& has_property) const;  // all that train, in order
  Tensor values() const {                                              // requires !divided()
    assert(!divided_);
    return values_.tensor({numel()});
  }
  ParamBuffer value_buffer() const {
    ParamBuffer all = divided_ ? ParamBuffer(grads().slice_rows(0, matrix_numel_), values_.tensor({vector_numel_}))
                               : ParamBuffer(values());
    all.frozen = frozen_values();
    return all;
  }
  bool has_adapters() const { return has_adapters_; }
  Tensor frozen_values() const { return frozen_numel() > 0 ? frozen_.tensor({frozen_numel()}) : Tensor(); }
  Tensor vector_values() const {  // [vector_numel()], wherever the matrices are
    return values_.tensor({vector_numel_}, DType::f32,
                          divided_ ? 0 : static_cast<size_t>(matrix_numel_) * sizeof(float));
  }
  Tensor grads() const { return grads_.tensor({numel()}); }
  // Returns the gradients of the vectors with sums_rows, which are last in the buffer. The padding between them is 0.
  Tensor row_sum_grads() const { return grads().slice_rows(row_sums_begin_, numel() - row_sums_begin_); }
  Tensor rounded() const {  // the flat rounded copy, or empty
    return mixed() ? rounded_.tensor({numel()}, compute_) : Tensor{};
  }
  DType compute_dtype() const { return compute_; }
  bool mixed() const { return compute_ != DType::f32; }
  Device device() const { return device_; }
  bool divided() const { return divided_; }  // true if f32 values of matrices are in the gradients' memory
  bool planned() const { return planned_; }
  Buffer buffer_of(size_t bytes) const;                            // on the store's device, and planned if the store is
  ParamBytes bytes() const;                                        // valid once the buffers are allocated
  int64_t numel() const { return matrix_numel_ + vector_numel_; }  // that train, on this rank, padding included
  int64_t matrix_numel() const { return matrix_numel_; }  // elements of the matrices; the offset of the next matrix
  int64_t vector_numel() const { return vector_numel_; }
  int64_t frozen_numel() const { return frozen_matrix_numel_ + frozen_vector_numel_; }
  int64_t global_numel() const;     // over all ranks, each parameter once
  int64_t trainable_numel() const;  // those of them that train
  double trained_share() const;     // of the elements of weights that GEMMs read
  std::vector<std::string> unmatched_frozen_names() const { return frozen_names_.unmatched(); }
  int tp_rank() const { return tp_rank_; }
  int tp_size() const { return tp_size_; }

 private:
  void make_buffers(int shards);
  static void pack(Context& ctx, const Param& p);
  Tensor grad_of(const Param& p) const;
  void cast_frozen(Context& ctx) const;
  void name_packed();
  DType copy_type() const { return use_ == ParamUse::int8_inference ? DType::i8 : compute_; }  // of inference copies
  int64_t inference_numel() const;
  int64_t inference_numel_of(const Param& p) const;
  void round_to_int8() const;

  int tp_rank_, tp_size_;
  DType compute_;
  Device device_;
  ParamUse use_;
  bool planned_;
  FrozenNames frozen_names_;
  std::deque<Param> params_;

  Buffer values_, grads_, rounded_, packed_, inference_;
  Buffer frozen_, unread_grads_;  // unread_grads_: of the frozen vectors
  int64_t matrix_numel_ = 0, vector_numel_ = 0, packed_numel_ = 0, row_sums_begin_ = 0;
  int64_t frozen_matrix_numel_ = 0, frozen_vector_numel_ = 0;
  bool has_adapters_ = false;
  bool laid_out_ = false, divided_ = false;
};

// Adds inference copies of a training store during its lifetime. They are made from the weights at its start.
class InferenceCopies {
 public:
  InferenceCopies(Context& ctx, ParamStore& params) : params_(params) {
    params.add_inference_copies();
    params.refresh(ctx);
  }
  ~InferenceCopies() { params_.remove_inference_copies(); }
  InferenceCopies(const InferenceCopies&) = delete;
  InferenceCopies& operator=(const InferenceCopies&) = delete;

 private:
  ParamStore& params_;
};

template <typename Property>
std::vector<ParamRange> ParamStore::ranges(const Property& has_property) const {
  std::vector<ParamRange> all;
  std::vector<size_t> in_memory;
  for (size_t i = 0; i < params_.size(); ++i)
    if (params_[i].trains()) in_memory.push_back(i);
  std::ranges::sort(in_memory, {}, [&](size_t i) { return params_[i].offset; });
  for (const size_t i : in_memory) {
    const Param& p = params_[i];
    const bool has = has_property(p);
    if (all.empty() || all.back().has_property != has || device_ == Device::cpu)
      all.push_back({.begin = p.offset, .first_param = i, .has_property = has});
    all.back().end = p.offset + p.numel();
    all.back().first_param = std::min(all.back().first_param, i);
    all.back().last_param = std::max(all.back().last_param, i + 1);
  }
  return all;
}

// These copy a rank's slice from or to a global tensor on the host. `local` and `global` must be contiguous f32
// buffers.
void slice_from_global(const Param& p, const float* global, float* local);
void slice_to_global(const ParamSpec& spec, int tp_rank, int tp_size, const float* local, float* global);

}  // namespace weft
