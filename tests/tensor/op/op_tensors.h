// tests/tensor/op/op_tensors.h: the tensors and step scalars in an op's arguments, found by their description
// (tensor/op/op_operands.h).
#pragma once

#include <vector>

#include "tensor/op/op_operands.h"

namespace weft::testing {

class OpPointers {
 public:
  template <typename Arguments>
  explicit OpPointers(Arguments& a) {  // not const: its fields may be changed through the pointers
    weft::ops::operands(*this, a);
  }
  std::vector<Tensor*> tensors;  // the given ones
  std::vector<Tensor*> scratch;  // those that only the op reads
  std::vector<const StepScalars**> step_scalars;

  void in(const char*, const Tensor& t, const char*, OperandType = OperandType::T, int64_t = -1) {
    if (!t.empty()) tensors.push_back(const_cast<Tensor*>(&t));
  }
  void out(const char* name, const Tensor& t, const char* dims, OperandType = OperandType::T, int64_t = -1) {
    in(name, t, dims);
  }
  void add(const char* name, const Tensor& t, const char* dims, OperandType = OperandType::T, int64_t = -1) {
    in(name, t, dims);
  }
  void scratch_memory(const char* name, const Tensor& t, const char* dims) {
    in(name, t, dims);
    scratch.push_back(const_cast<Tensor*>(&t));
  }
  void size(char, int64_t) {}
  void ranges(const char* name, const weft::ops::SequenceRanges& s, const Tensor&) {
    in(name, s.begin, "B");
    in(name, s.end, "B");
    in(name, s.of_row, "R");
    in(name, s.pieces, "*");
  }
  void dropout(const Dropout& d) { scalars(d.scalars); }
  void scalars(const StepScalars* const& s) {
    if (s != nullptr) step_scalars.push_back(const_cast<const StepScalars**>(&s));
  }
};

// The bytes from a tensor's first element to its last, for a column slice including those between its rows.
inline size_t extent(const Tensor& t) {
  if (t.numel() == 0) return 0;
  const int64_t elements = t.rank() == 2 ? (t.rows() - 1) * t.row_stride + t.cols() : t.numel();
  return static_cast<size_t>(elements) * size_of(t.dtype);
}

}  // namespace weft::testing
