// tensor/op/quantize.h: rounds the rows of a weight to int8, with a scale for each row: w[c] is about scale * q[c].
//
// The largest absolute value of a row becomes 127 (symmetric quantization, Jacob et al. 2018). Scales have 17
// significant bits. Therefore scale * q is exact in f32, and a row of such products is rounded to the same q and scale
// again. All results have the same bits on every processor.
#pragma once

#include <cstdint>

namespace weft {

inline constexpr int kInt8Max = 127;
inline constexpr float kLeastInt8Row = 1e-30f;  // a row whose values are all nearer to 0 becomes 0

// Fills q [count] and returns the scale. If a value is not finite, the scale is NaN and q is 0.
float quantize_row(const float* row, int64_t count, int8_t* q);

// Replaces each row of x [rows, cols] by scale * q.
void round_rows_to_int8(float* x, int64_t rows, int64_t cols);

// Returns the largest absolute value of a row; NaN counts as larger than infinity.
float largest_magnitude(const float* row, int64_t count);

}  // namespace weft
