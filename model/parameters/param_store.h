// model/parameters/param_store.h: the parameters of a model: one declaration each, flat memory for all, views
// for the layers.
//
// A declaration has name, global shape, the dimension that tensor parallelism splits, initial value and
// weight decay. The rest of the program does not know how a parameter is split. Fused tensors keep their full
// rank, so that a slice is always a plain slice of one dimension. Values and gradients are two flat f32
// buffers in order of declaration. GEMMs read copies: rounded in mixed precision, and packed where that is
// faster on the device. Code that writes values must update the copies with round_values() or refresh().
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tensor/memory.h"
#include "tensor/ops.h"

namespace weft {

struct InitSpec {
  ops::Init::Kind kind = ops::Init::Kind::constant;
  float value = 0;
  static InitSpec constant(float c) { return {ops::Init::Kind::constant, c}; }
  static InitSpec normal(float stddev) { return {ops::Init::Kind::normal, stddev}; }
  static InitSpec xavier(int64_t fan_in,
                         int64_t fan_out);  // U(-a, a), a = sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010)
};

struct ParamSpec {
  std::string name;
  Shape shape;       // global
  int tp_dim = -1;   // the dimension split over tp; -1: whole on every rank
  bool pad = false;  // vocabulary tables: rank r holds rows [r * ceil(n / tp), ...), with zeros at the end of the last
  InitSpec init = {};
  bool decay = false;  // whether weight decay applies (matrices yes; biases and norms no)
  // Its gradient is a sum over rows of activations: where tp ranks split rows (model/pass.h), each has a part of it.
  bool sums_rows = false;
};

struct Param {  // a layer's handle
  ParamSpec spec;
  Tensor value, grad;  // local slice, f32; views into the flat buffers
  Tensor compute;      // read by look-ups: bf16 or f16, or `value`
  ops::Weight weight;  // read by GEMMs: `compute` as a matrix [out, in]; empty if no GEMM reads it
  int64_t offset = 0;  // elements from the start of the flat buffers
  int64_t begin = 0;   // where the local slice starts in dimension tp_dim
  int64_t numel() const { return value.numel(); }
  Tensor weight_grad() const { return grad.with_shape(weight.matrix.shape); }
};

// Adjacent parameters with the same treatment: one launch on a GPU; one at a time on a CPU, so that each is
// packed while it is in the cache.
struct ParamRange {
  int64_t begin = 0, end = 0;              // elements of the flat buffers
  size_t first_param = 0, last_param = 0;  // one past
  bool has_property = false;               // their common property
};

class ParamStore {
 public:
  // `compute`: f32, or bf16 or f16 for mixed precision.
  ParamStore(int tp_rank, int tp_size, DType compute = DType::f32, Device device = Device::cpu)
      : tp_rank_(tp_rank), tp_size_(tp_size), compute_(compute), device_(device) {}

  const Param* declare(ParamSpec spec);  // before allocate(); an Error for a duplicate name or an indivisible split
  void use_as_matrix(const Param* p, int64_t rows);  // GEMMs read p as `rows` local rows; before allocate()
  void require_memory() const;                       // an Error if the host cannot hold values and gradients
  void allocate();                                   // makes the flat buffers; call once, after all declarations
  void initialize(Context& ctx, uint64_t seed);
  void round_values(Context& ctx) const;                        // updates all copies after values were written
  void refresh(Context& ctx, const ParamRange& written) const;  // after the rounded copies were written, too

  const std::deque<Param>& params() const { return params_; }
  const Param* find(const std::string& name) const;  // nullptr if there is none
  template <typename Property>
  std::vector<ParamRange> ranges(const Property& has_property) const;  // all parameters, in order
  Tensor values() const { return values_.tensor({numel_}); }
  Tensor grads() const { return grads_.tensor({numel_}); }
  Tensor rounded() const {  // the flat rounded copy, or empty
    return mixed() ? rounded_.tensor({numel_}, compute_) : Tensor{};
  }
  DType compute_dtype() const { return compute_; }
  bool mixed() const { return compute_ != DType::f32; }
  Device device() const { return device_; }
  size_t copies_bytes() const;              // memory of the rounded and packed copies
  int64_t numel() const { return numel_; }  // of this rank, padding included; the offset of the next declaration
  int64_t global_numel() const;             // of the whole model, each parameter once
  int tp_rank() const { return tp_rank_; }
  int tp_size() const { return tp_size_; }

 private:
  void allocate_packed();

  int tp_rank_, tp_size_;
  DType compute_;
  Device device_;
  std::deque<Param> params_;

  Buffer values_, grads_, rounded_, packed_;
  int64_t numel_ = 0, packed_numel_ = 0;
};

template <typename Property>
std::vector<ParamRange> ParamStore::ranges(const Property& has_property) const {
  std::vector<ParamRange> all;
  for (size_t i = 0; i < params_.size(); ++i) {
    const Param& p = params_[i];
    const bool has = has_property(p);
    if (all.empty() || all.back().has_property != has || device_ == Device::cpu)
      all.push_back({.begin = p.offset, .first_param = i, .has_property = has});
    all.back().end = p.offset + p.numel();
    all.back().last_param = i + 1;
  }
  return all;
}

// Copies between a global tensor and a rank's slice, on the host. `local` and `global` are contiguous f32
// buffers.
void slice_from_global(const Param& p, const float* global, float* local);
void slice_to_global(const ParamSpec& spec, int tp_rank, int tp_size, const float* local, float* global);

}  // namespace weft
