// trainer/bench/gemm_rates.h: measures the matrix products (GEMMs) of a rank's training step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"
#include "tensor/cpu/peak.h"
#include "trainer/config/run_config.h"

namespace weft {

enum class ProductPass : uint8_t { forward, input_gradient, weight_gradient };

struct Product {      // c [m, n] = a b, a sum over k
  std::string layer;  // "qkv"
  ProductPass pass = ProductPass::forward;
  int64_t m = 0, n = 0, k = 0;
  bool bias = false;
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// Returns the GEMMs in a step of this rank: one per pass for each kind of layer. REQUIRES: `config` is resolved.
std::vector<Product> products_of(const RunConfig& config);

struct GemmRate {
  Product product;
  double best = 0, median = 0;  // FLOP/s of one rank while all ranks run
};

// Times the GEMMs of products_of(), with operands of the configured precision and weight gradients in f32.
std::vector<GemmRate> measure_products(const RunConfig& config, Communicator& world, Context& ctx, double seconds);

// Measures the peak rates of a GPU (tensor/cpu/peak.h measures CPUs). The peak of an operand type is the best rate of
// square GEMMs with up to 8192 rows.
std::vector<PeakRate> measure_square_products(Context& ctx, double seconds);

}  // namespace weft
