// trainer/bench/gemm_rates.h: how fast a rank computes the matrix products of its steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"
#include "tensor/cpu/peak.h"
#include "trainer/run_config.h"

namespace weft {

enum class ProductPass : uint8_t { forward, input_gradient, weight_gradient };

struct Product {      // c [m, n] = sum over k
  std::string layer;  // "qkv"
  ProductPass pass = ProductPass::forward;
  int64_t m = 0, n = 0, k = 0;
  bool bias = false;
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// One of each kind that a step of this rank has: every layer's three passes. `config` is resolved.
std::vector<Product> products_of(const RunConfig& config);

struct GemmRate {
  Product product;
  double best = 0, median = 0;  // operations a second, of one rank while all run
};

// As the model asks for them: operands in the configuration's precision, gradients of weights added to f32.
std::vector<GemmRate> measure_products(const RunConfig& config, Communicator& world, Context& ctx, double seconds);

// The peak of a device that has no loops of tensor/cpu/peak.h: the best of square products, from small ones to some of
// 8192 rows, a rate for each type of operands.
std::vector<PeakRate> measure_square_products(Context& ctx, double seconds);

}  // namespace weft
