// trainer/optimizer/optimizer.h: Adam over the flat parameters, and the norm of their gradient.
//
// With a shard (parallel/shard.h) of the matrices it keeps and updates that one alone, and all of the vectors, which
// are few. ParamGather then brings the other shards' weights.
#pragma once

#include <cstdint>

#include "model/parameters/param_store.h"
#include "parallel/shard.h"

namespace weft {

struct OptimizerConfig {
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9, weight_decay = 0, clip_norm = 0;

  template <typename V>
  void fields(V& v) {
    v("beta1", beta1, "Adam: decay of the first moment");
    v("beta2", beta2, "Adam: decay of the second moment");
    v("eps", eps, "Adam: added to the root of the second moment");
    v("weight_decay", weight_decay,
      "decoupled decay of matrices, times the learning rate; biases and norms never decay");
    v("clip_norm", clip_norm, "scale gradients down to this global norm; 0 = never");
  }
};

// Factor that clips a gradient of this norm to clip_norm: min(1, clip_norm / (norm + 1e-6)), as in PyTorch's
// clip_grad_norm_; 1 if clip_norm is 0.
double clip_scale(double norm, double clip_norm);

class Optimizer {
 public:
  // `shard` divides the matrices of `params`; by default it is all of them. `ema`: decay of the average of the weights
  // (weight_average.h); 0: there is none.
  Optimizer(const ParamStore& params, const OptimizerConfig& config, const Shard& shard, double ema = 0);
  Optimizer(const ParamStore& params, const OptimizerConfig& config)
      : Optimizer(params, config, Shard(params.matrix_numel(), 0, 1, /*bucket=*/int64_t{1} << 62)) {}

  // Adds the sums of squared gradients, separately for parameters split over tp and for whole ones. Of a sharded
  // optimizer the squares of all ranks of dp add up to those of the whole gradient.
  void add_squares(Context& ctx, const Tensor& split, const Tensor& whole) const;

  // Counts a step and sets Adam's step scalars. grad_scale multiplies the gradients: clipping factor / loss
  // scale.
  void next_step(StepScalars& scalars, double lr, double grad_scale);
  // Updates values, moments, average and all copies of the values; `scalars` are those of next_step(), on the device.
  void update(Context& ctx, const StepScalars* scalars) const;

  int64_t steps() const { return steps_; }
  void set_steps(int64_t n) { steps_ = n; }

  bool sharded() const { return shard_.ranks() > 1; }
  const Shard& shard() const { return shard_; }
  // The moments: of the matrices [shard().numel()], and of the vectors.
  ParamBuffer first_moment() const { return buffer_of(m_); }
  ParamBuffer second_moment() const { return buffer_of(v_); }
  // Where ParamStore::divided(): the f32 values of this rank's matrices.
  Tensor master() const { return master_.tensor({shard_.numel()}); }

  bool has_average() const { return ema_ > 0; }
  ParamBuffer average() const { return buffer_of(average_); }  // as the moments
  // The average becomes the present weights, of which at least the own shard is up to date.
  void begin_average(Context& ctx) const;

  // Whether the model is evaluated with other weights than it trains with (trainer/evaluation_weights.h).
  bool has_evaluation_weights() const { return has_average(); }
  // Writes those of the own shard, in its places, and of all vectors. `whole` is laid out like the parameters.
  void write_evaluation_weights(Context& ctx, const ParamBuffer& whole) const;

 private:
  // Adjacent elements with one property, all of this rank.
  struct Piece {
    ParamRange range;
    int64_t place = 0;  // of range.begin in the moments
  };

  std::vector<Piece> own_pieces(const std::vector<ParamRange>& ranges) const;
  ParamBuffer buffer_of(const Buffer& buffer) const;

  const ParamStore& params_;
  OptimizerConfig config_;
  double ema_;
  Shard shard_;
  std::vector<Piece> by_decay_, by_split_;
  Buffer m_, v_, average_, master_;
  int64_t steps_ = 0;  // Adam's own count, without skipped steps
};

}  // namespace weft
