// tensor/math.h: defines the scalar formulas that all backends share, for float and double.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/elementary.h"

namespace weft {

// Contains the softmax statistics of a row of logits, or of a part of the row. merge() combines parts (online softmax,
// Milakov & Gimelshein 2018).
template <typename T>
struct SoftmaxRow {
  T max = -std::numeric_limits<T>::infinity();
  T sum_exp = 0;     // sum of exp(logit - max)
  T sum_logits = 0;  // sum of the logits
  T target = 0;      // the target's logit; 0 in a part without it
};

template <typename T>
WEFT_HD inline SoftmaxRow<T> merge(const SoftmaxRow<T>& a, const SoftmaxRow<T>& b) {
  if (a.sum_exp == T(0)) return {b.max, b.sum_exp, a.sum_logits + b.sum_logits, a.target + b.target};
  if (b.sum_exp == T(0)) return {a.max, a.sum_exp, a.sum_logits + b.sum_logits, a.target + b.target};
  const T max = a.max > b.max ? a.max : b.max;
  return {max, a.sum_exp * exp_of(a.max - max) + b.sum_exp * exp_of(b.max - max), a.sum_logits + b.sum_logits,
          a.target + b.target};
}

// Label smoothing (Szegedy et al. 2016) gives the target probability 1 - e, and each other entry e / (V - 1).
template <typename T>
struct LabelSmoothing {
  T on_target, elsewhere;
  int64_t vocabulary;
  WEFT_HD LabelSmoothing(T e, int64_t v)
      : on_target(v > 1 ? T(1) - e : T(1)), elsewhere(v > 1 ? e / static_cast<T>(v - 1) : T(0)), vocabulary(v) {}
};

template <typename T>
WEFT_HD inline T log_sum_exp(const SoftmaxRow<T>& row) {
  return row.max + std::log(row.sum_exp);
}
template <typename T>
WEFT_HD inline T negative_log_likelihood(const SoftmaxRow<T>& row) {
  return log_sum_exp(row) - row.target;
}
template <typename T>
WEFT_HD inline T smoothed_cross_entropy(const SoftmaxRow<T>& row, const LabelSmoothing<T>& s) {
  const T nll = negative_log_likelihood(row);
  const T sum_nll = static_cast<T>(s.vocabulary) * log_sum_exp(row) - row.sum_logits;  // summed over all entries
  return s.on_target * nll + s.elsewhere * (sum_nll - nll);
}
// Returns d loss / d logit = probability - smoothed target.
template <typename T>
WEFT_HD inline T cross_entropy_gradient(T logit, T max, T inverse_sum_exp, T wanted) {
  return exp_of(logit - max) * inverse_sum_exp - wanted;
}

// Contains the softmax statistics of two rows of logits over the same vocabulary, or of the same part of both, for the
// Kullback-Leibler divergence between their distributions p and q.
template <typename T>
struct SoftmaxPair {
  SoftmaxRow<T> p, q;
  T p_minus_q = 0;  // sum of exp(logit_p - p.max) * (logit_p - logit_q)
  T q_minus_p = 0;  // sum of exp(logit_q - q.max) * (logit_q - logit_p)
};

// Returns a part's sum of exponentials, relative to the part's maximum, relative to the maximum of the whole row.
template <typename T>
WEFT_HD inline T rescaled(T sum, const SoftmaxRow<T>& part, const SoftmaxRow<T>& whole) {
  return part.sum_exp == T(0) ? T(0) : sum * exp_of(part.max - whole.max);
}
template <typename T>
WEFT_HD inline SoftmaxPair<T> merge(const SoftmaxPair<T>& a, const SoftmaxPair<T>& b) {
  const SoftmaxRow<T> p = merge(a.p, b.p), q = merge(a.q, b.q);
  return {p, q, rescaled(a.p_minus_q, a.p, p) + rescaled(b.p_minus_q, b.p, p),
          rescaled(a.q_minus_p, a.q, q) + rescaled(b.q_minus_p, b.q, q)};
}

// The numbers of a pair of rows from which the losses and gradients of ops::ConsistencyLoss follow.
template <typename T>
struct PairDivergence {
  T log_sum_p, log_sum_q;  // log of the sum of exponentials
  T of_p, of_q;            // KL(p || q), KL(q || p)
  WEFT_HD explicit PairDivergence(const SoftmaxPair<T>& s)
      : log_sum_p(log_sum_exp(s.p)),
        log_sum_q(log_sum_exp(s.q)),
        of_p(s.p_minus_q / s.p.sum_exp - (log_sum_p - log_sum_q)),
        of_q(s.q_minus_p / s.q.sum_exp - (log_sum_q - log_sum_p)) {}
};

template <typename T>
struct ConsistencyRow {  // losses of a row, as in ops::ConsistencyLoss
  T loss, nll, divergence;
};
template <typename T, typename Factors>
WEFT_HD inline ConsistencyRow<T> consistency_losses(const SoftmaxPair<T>& s, const PairDivergence<T>& d,
                                                    const Factors& f, const LabelSmoothing<T>& smoothing) {
  const T divergence = f.divergence_p * d.of_p + f.divergence_q * d.of_q;
  return {f.entropy_p * smoothed_cross_entropy(s.p, smoothing) + f.entropy_q * smoothed_cross_entropy(s.q, smoothing) +
              divergence,
          f.entropy_p * negative_log_likelihood(s.p) + f.entropy_q * negative_log_likelihood(s.q), divergence};
}

// Replaces the logits x of p and y of q by the derivatives of the loss. Because d KL(p || q) / dx = p (log p - log q -
// KL(p || q)) and d KL(p || q) / dy = q - p, both terms of both divergences need only p, q and log p - log q.
template <typename T, typename Factors>
WEFT_HD inline void consistency_gradient(const PairDivergence<T>& d, const Factors& f, T wanted, T& x, T& y) {
  const T log_p = x - d.log_sum_p, log_q = y - d.log_sum_q, p = exp_of(log_p), q = exp_of(log_q);
  const T ratio = log_p - log_q;
  x = f.entropy_p * (p - wanted) + f.divergence_p * p * (ratio - d.of_p) + f.divergence_q * (p - q);
  y = f.entropy_q * (q - wanted) + f.divergence_q * q * (-ratio - d.of_q) + f.divergence_p * (q - p);
}

// Updates one element m of Muon's momentum (ops::MuonMomentum), and returns Nesterov's update.
template <typename T>
WEFT_HD inline T muon_momentum_update(T momentum, T g, T& m) {
  m = momentum * m + (T(1) - momentum) * g;
  return momentum * m + (T(1) - momentum) * g;
}

// Updates one element of an exponential moving average; rate = 1 - decay.
template <typename T>
WEFT_HD inline void average_update(T rate, T param, T& average) {
  average += rate * (param - average);
}

// Computes a normal variate from two uniform draws (Box & Muller 1958), in double, so that all devices agree.
WEFT_HD inline float normal_from_uniforms(float u1, float u2) {
  return static_cast<float>(std::sqrt(-2.0 * std::log(static_cast<double>(u1))) *
                            std::cos(6.283185307179586477 * static_cast<double>(u2)));
}

// Defines a position table's columns. interleaved: column 2i is sin(p / 10000^(2i / width)), and column 2i + 1 is the
// cosine of the same angle (Vaswani et al. 2017). halves: all sines come before all cosines. tensor2tensor: as in
// halves, but the frequency is exp(-i log(10000) / (width / 2 - 1)), and the last column of an odd width is 0.
enum class PositionLayout : uint8_t { interleaved, halves, tensor2tensor };

WEFT_HD inline double sinusoid(PositionLayout layout, int64_t position, int64_t column, int64_t width) {
  const int64_t num_sines = layout == PositionLayout::tensor2tensor ? width / 2 : (width + 1) / 2;
  const bool is_sine = layout == PositionLayout::interleaved ? column % 2 == 0 : column < num_sines;
  const int64_t i = layout == PositionLayout::interleaved ? column / 2 : is_sine ? column : column - num_sines;
  double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(width);
  if (layout == PositionLayout::tensor2tensor) {
    if (i >= num_sines) return 0.0;
    exponent = static_cast<double>(i) / static_cast<double>(num_sines > 1 ? num_sines - 1 : 1);
  }
  const double angle = static_cast<double>(position) * std::pow(10000.0, -exponent);
  return is_sine ? std::sin(angle) : std::cos(angle);
}

}  // namespace weft
