// tests/emulation/include/tensor/cuda/mma.cuh: replaces tensor/cuda/mma.cuh: the same three instructions. The
// lanes of the warp exchange their fragments in the layout of the PTX ISA.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "tensor/half.h"
#include "tests/emulation/runtime/device.h"

namespace weft::cuda {

namespace emulated {

template <typename T>
float element(uint32_t word, int i) {
  T x;
  x.bits = static_cast<uint16_t>(word >> (16 * i));
  return to_float(x);
}

struct MmaLane {
  float* c;
  const uint32_t* a;
  uint32_t b[2];
};

template <typename T>
void multiply_tiles(unsigned, MmaLane* const lanes[emulation::kWarpSize]) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < emulation::kWarpSize; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 2; ++i) {
      for (int word = 0; word < 4; ++word)
        a[g + word % 2 * 8][2 * t + i + word / 2 * 8] = element<T>(lanes[lane]->a[word], i);
      for (int word = 0; word < 2; ++word) b[2 * t + i + word * 8][g] = element<T>(lanes[lane]->b[word], i);
    }
  }
  for (int lane = 0; lane < emulation::kWarpSize; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = 2 * (lane % 4) + i % 2;
      for (int k = 0; k < 16; ++k) lanes[lane]->c[i] += a[row][k] * b[k][column];
    }
  }
}

}  // namespace emulated

template <typename T>
void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  emulated::MmaLane mine{c, a, {b0, b1}};
  emulation::warp_meet<emulated::multiply_tiles<T>>(0xFFFFFFFFu, mine, "mma");
}

struct Matrices {
  uint32_t v[4];
};

namespace emulated {

struct LoadLane {
  const std::byte* row;
  Matrices loaded;
};

inline void require_rows(LoadLane* const lanes[emulation::kWarpSize]) {
  const emulation::SharedMemory shared = emulation::shared_memory();
  for (int lane = 0; lane < emulation::kWarpSize; ++lane) {
    const std::byte* const row = lanes[lane]->row;
    if (row < shared.begin || row + 16 > shared.dynamic + shared.dynamic_capacity)
      throw std::runtime_error("ldmatrix: a row is not in shared memory");
    if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
      throw std::runtime_error("ldmatrix: a row does not begin at a multiple of 16 bytes");
  }
}

template <bool kTransposed>
void load_tiles(unsigned, LoadLane* const lanes[emulation::kWarpSize]) {
  require_rows(lanes);
  for (int lane = 0; lane < emulation::kWarpSize; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int matrix = 0; matrix < 4; ++matrix) {
      uint16_t pair[2];
      for (int i = 0; i < 2; ++i) {
        const int row = kTransposed ? 2 * t + i : g, column = kTransposed ? g : 2 * t + i;
        std::memcpy(&pair[i], lanes[8 * matrix + row]->row + column * sizeof(uint16_t), sizeof(uint16_t));
      }
      lanes[lane]->loaded.v[matrix] = pair[0] | static_cast<uint32_t>(pair[1]) << 16;
    }
  }
}

template <bool kTransposed>
Matrices load(const void* row, const char* what) {
  LoadLane mine{static_cast<const std::byte*>(row), {}};
  emulation::warp_meet<load_tiles<kTransposed>>(0xFFFFFFFFu, mine, what);
  return mine.loaded;
}

}  // namespace emulated

inline Matrices load_matrices(const void* row) { return emulated::load<false>(row, "ldmatrix"); }
inline Matrices load_matrices_transposed(const void* row) { return emulated::load<true>(row, "ldmatrix.trans"); }

}  // namespace weft::cuda
