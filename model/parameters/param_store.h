// model/parameters/param_store.h: the parameters of a model: one declaration each, flat memory for all, views for the
// layers.
//
// A declaration says name, global shape, the dimension that tensor parallelism splits, initial value and weight decay;
// nothing else in the program knows how a parameter is split. Fused tensors keep their true rank, so that a slice is
// always a plain slice of one dimension. Values and gradients are two flat f32 buffers in order of declaration;
// products read `compute`, a rounded copy of the values in mixed precision, else the values themselves; and, where the
// device multiplies faster so, matrices packed from it once a step.
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
  bool pad = false;  // vocabulary tables only: rank r holds rows [r * ceil(n / tp), ...), the tail of the last is zero
  InitSpec init = {};
  bool decay = false;  // whether weight decay applies (matrices yes; biases and norms no)
};

struct Param {  // a layer's handle
  ParamSpec spec;
  Tensor value, grad;       // local slice, f32; views into the flat buffers
  Tensor compute;           // what products and look-ups read: bf16 or f16, or `value`
  int64_t matrix_rows = 0;  // of the local slice as products see it, [out, in]; 0: no product reads it
  // Of x W^T and dy W (ops::pack_weight); empty where the device has no such form.
  Tensor packed_forward, packed_backward;
  int64_t offset = 0;  // elements from the start of the flat buffers
  int64_t begin = 0;   // where the local slice starts in dimension tp_dim
  int64_t numel() const { return value.numel(); }
  Tensor matrix() const { return compute.with_shape({matrix_rows, numel() / matrix_rows}); }
};

class ParamStore {
 public:
  // `compute`: f32, or bf16 or f16 for mixed precision.
  ParamStore(int tp_rank, int tp_size, DType compute = DType::f32, Device device = Device::cpu)
      : tp_rank_(tp_rank), tp_size_(tp_size), compute_(compute), device_(device) {}

  const Param* declare(ParamSpec spec);  // before allocate(); a duplicate name or an indivisible split is an Error
  // Products read p as a matrix of so many local rows: it is packed for them. Before allocate().
  void use_as_matrix(const Param* p, int64_t rows);
  void allocate();  // makes the flat buffers; call once, after all declarations
  void initialize(Context& ctx, uint64_t seed);
  void round_values(Context& ctx);  // after the values were written by other than Adam: brings all copies up to date
  void pack(Context& ctx, const Param& p) const;  // after p.compute was written

  const std::deque<Param>& params() const { return params_; }
  const Param* find(const std::string& name) const;  // nullptr if there is none
  Tensor values() const { return values_.tensor({numel_}); }
  Tensor grads() const { return grads_.tensor({numel_}); }
  Tensor rounded() const {  // the flat copy; empty if there is none
    return mixed() ? rounded_.tensor({numel_}, compute_) : Tensor{};
  }
  DType compute_dtype() const { return compute_; }
  bool mixed() const { return compute_ != DType::f32; }
  Device device() const { return device_; }
  size_t copies_bytes() const;              // of memory that rounded and packed copies take
  int64_t numel() const { return numel_; }  // of this rank, padding included
  int64_t global_numel() const;             // of the whole model, each parameter once
  int tp_rank() const { return tp_rank_; }
  int tp_size() const { return tp_size_; }

 private:
  Tensor packed_shape(int64_t k, int64_t n) const;  // without memory; empty where the device has no such form
  int64_t packed_numel() const;
  void allocate_packed();

  int tp_rank_, tp_size_;
  DType compute_;
  Device device_;
  std::deque<Param> params_;

  Buffer values_, grads_, rounded_, packed_;
  int64_t numel_ = 0;
};

// Moves between a global tensor and a rank's slice, on the host. `local` and `global` are contiguous f32 buffers.
void slice_from_global(const Param& p, const float* global, float* local);
void slice_to_global(const ParamSpec& spec, int tp_rank, int tp_size, const float* local, float* global);

}  // namespace weft
