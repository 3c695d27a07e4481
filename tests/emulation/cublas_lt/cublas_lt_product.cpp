// tests/emulation/cublas_lt/cublas_lt_product.cpp: column-major GEMMs by plain loops.
#include "tests/emulation/cublas_lt/cublas_lt_product.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/half.h"
#include "tests/emulation/runtime/device.h"

namespace weft::emulation {
namespace {

// op(matrix) as f32, with contiguous columns.
std::vector<float> dense(const ColumnMatrix& matrix, bool transposed) {
  const int64_t rows = transposed ? matrix.cols : matrix.rows, cols = transposed ? matrix.rows : matrix.cols;
  std::vector<float> values;
  values.reserve(static_cast<size_t>(rows * cols));
  for (int64_t j = 0; j < cols; ++j)
    for (int64_t i = 0; i < rows; ++i)
      values.push_back(load(matrix.data, matrix.type, transposed ? j + i * matrix.ld : i + j * matrix.ld));
  return values;
}

// sums[m x n] = columns [begin, end) of a [m x k] times those rows of b [k x n]
void multiply_part(const std::vector<float>& a, const std::vector<float>& b, int64_t m, int64_t n, int64_t k,
                   int64_t begin, int64_t end, float* sums) {
  for (int64_t j = 0; j < n; ++j) {
    float* const column = sums + j * m;
    for (int64_t i = 0; i < m; ++i) column[i] = 0;
    for (int64_t p = begin; p < end; ++p) {
      const float factor = b[static_cast<size_t>(p + j * k)];
      const float* const from = a.data() + p * m;
      for (int64_t i = 0; i < m; ++i) column[i] += from[i] * factor;
    }
  }
}

// Adds the parts' sums in the workspace: first to last; if any order is allowed, every other call adds last
// to first.
void multiply_in_parts(const ColumnProduct& product, const std::vector<float>& a, const std::vector<float>& b,
                       int64_t k, std::vector<float>& sums) {
  static std::atomic<unsigned> calls = 0;
  const bool backwards = product.parts_in_any_order && calls++ % 2 == 1;
  const int64_t m = product.d.rows, n = product.d.cols, parts = product.parts;
  for (int64_t part = 0; part < parts; ++part)
    multiply_part(a, b, m, n, k, part * k / parts, (part + 1) * k / parts, product.workspace + part * m * n);
  for (int64_t part = 0; part < parts; ++part) {
    const float* const from = product.workspace + (backwards ? parts - 1 - part : part) * m * n;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += from[i];
  }
}

void require_device_memory(const char* what, const void* data, int64_t bytes) {
  if (is_device_memory(data, static_cast<size_t>(bytes))) return;
  throw std::runtime_error(std::string("cublasLtMatmul: ") + what + ", " + std::to_string(bytes) +
                           " bytes, is not in device memory");
}

}  // namespace

int64_t size_of(cudaDataType_t type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

bool has_bits(uint32_t epilogue, uint32_t bits) { return (epilogue & bits) == bits; }

int64_t ColumnMatrix::bytes() const { return ((cols - 1) * ld + rows) * size_of(type); }

float load(const void* data, cudaDataType_t type, int64_t index) {
  if (type == CUDA_R_16BF) return to_float(static_cast<const BFloat16*>(data)[index]);
  if (type == CUDA_R_16F) return to_float(static_cast<const Float16*>(data)[index]);
  return static_cast<const float*>(data)[index];
}

void store(void* data, cudaDataType_t type, int64_t index, float value) {
  if (type == CUDA_R_16BF)
    static_cast<BFloat16*>(data)[index] = from_float<BFloat16>(value);
  else if (type == CUDA_R_16F)
    static_cast<Float16*>(data)[index] = from_float<Float16>(value);
  else
    static_cast<float*>(data)[index] = value;
}

void require_device_memory(const ColumnProduct& product) {
  const int64_t m = product.d.rows, n = product.d.cols;
  require_device_memory("A", product.a.data, product.a.bytes());
  require_device_memory("B", product.b.data, product.b.bytes());
  if (product.beta != 0) require_device_memory("C", product.c.data, product.c.bytes());
  require_device_memory("D", product.d.data, product.d.bytes());
  if (product.bias != nullptr) {
    const int64_t length = has_bits(product.epilogue, CUBLASLT_EPILOGUE_BGRADB) ? n : m;
    require_device_memory("the bias", product.bias, length * size_of(product.d.type));
  }
  if (product.aux != nullptr) {
    const bool are_bits =
        has_bits(product.epilogue, CUBLASLT_EPILOGUE_RELU) || has_bits(product.epilogue, kReluGradient);
    const int64_t bits = product.aux_ld * n * (are_bits ? 1 : 8 * size_of(product.d.type));
    require_device_memory("the auxiliary buffer", product.aux, bits / 8);
  }
  if (product.parts > 1)
    require_device_memory("the workspace", product.workspace, m * n * product.parts * size_of(CUDA_R_32F));
}

void compute(const ColumnProduct& product) {
  const int64_t m = product.d.rows, n = product.d.cols, k = product.trans_a ? product.a.rows : product.a.cols;
  const std::vector<float> a = dense(product.a, product.trans_a), b = dense(product.b, product.trans_b);
  std::vector<float> values(static_cast<size_t>(m * n));
  if (product.parts > 1)
    multiply_in_parts(product, a, b, k, values);
  else
    multiply_part(a, b, m, n, k, 0, k, values.data());
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      float& value = values[static_cast<size_t>(i + j * m)];
      value *= product.alpha;
      if (product.beta != 0) value += product.beta * load(product.c.data, product.c.type, i + j * product.c.ld);
    }
  }
  apply_epilogue(product, values.data());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i)
      store(product.d.data, product.d.type, i + j * product.d.ld, values[static_cast<size_t>(i + j * m)]);
}

}  // namespace weft::emulation
