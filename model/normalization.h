// model/normalization.h: layer norm (Ba, Kiros, Hinton 2016), and its place around a sublayer: post-norm or pre-norm.
//
// post: y = norm(x + f(x)) (Vaswani et al. 2017);  pre: y = x + f(norm(x)) (Xiong et al. 2020). Norms are whole on
// every rank.
#pragma once

#include <string>

#include "model/config.h"
#include "model/pass.h"
#include "parallel/param_store.h"

namespace weft {

class LayerNorm {
 public:
  struct Saved {
    Tensor x, mean, rstd;
  };
  LayerNorm(ParamStore& params, const std::string& name, int64_t width);

  void forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved) const;
  // d_x = gradient through the norm (+ d_residual if given); d_x may be d_y or d_residual.
  void backward(Pass& p, const Tensor& d_y, const Saved& saved, const Tensor& d_residual, const Tensor& d_x) const;

 private:
  const Param *gamma_, *beta_;
};

// A sublayer f with its residual connection and norm. f adds the residual itself: f(input, residual, y).
class ResidualNorm {
 public:
  using Saved = LayerNorm::Saved;
  ResidualNorm(ParamStore& params, const std::string& name, int64_t width, NormPosition place)
      : norm_(params, name, width), place_(place) {}

  template <typename Sublayer>
  void forward(Pass& p, const Tensor& x, const Tensor& y, Saved* saved, Sublayer&& f) const {
    Tensor between = p.arena.like(x);
    if (place_ == NormPosition::pre) {
      norm_.forward(p, x, between, saved);
      f(between, /*residual=*/x, y);
    } else {
      f(x, /*residual=*/x, between);
      norm_.forward(p, between, y, saved);
    }
  }

  // d: gradient of y in, gradient of x out. f_backward(d_y, d_input) leaves out the residual path.
  template <typename SublayerBackward>
  void backward(Pass& p, const Tensor& d, const Saved& saved, SublayerBackward&& f_backward) const {
    ArenaScope scope(p.arena);
    Tensor between = p.arena.like(d);
    if (place_ == NormPosition::pre) {
      f_backward(d, between);
      norm_.backward(p, between, saved, /*d_residual=*/d, d);
    } else {
      norm_.backward(p, d, saved, /*d_residual=*/{}, between);
      f_backward(between, d);
      ops::add(p.ctx, {.x = between, .y = d});
    }
  }

 private:
  LayerNorm norm_;
  NormPosition place_;
};

}  // namespace weft
