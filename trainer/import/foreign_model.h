// trainer/import/foreign_model.h: reads Weft's parameters from the tensors of another program's model.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/export/names/foreign_tensor.h"
#include "trainer/import/formats/tensor_files.h"

namespace weft {

struct ForeignModel {
  std::string from, config;  // the folder, and the file that describes the model: for messages
  TensorFiles files;
  std::vector<ForeignTensor> tensors;
  // For each of our ids, the row of the foreign table, or kNewRow. A new row contains zeros, and its logit is
  // kNeverPredicted.
  std::vector<int64_t> source_rows, target_rows;
  int64_t width = 0;
  int64_t unused_positions = 0;  // rows of a table of positions before the first position

  static constexpr int64_t kNewRow = -1;
  // The probability is 0 in f32 for logits of usual size, and label smoothing, which multiplies it, remains finite.
  static constexpr float kNeverPredicted = -100;

  // Throws an Error of kind checkpoint if a tensor is missing or has another shape than the table says, or if a file
  // contains a tensor that is neither in the table nor redundant.
  void check(const std::function<bool(const std::string& name)>& is_redundant) const;
  // True if a value of a vector, other than the one at `except`, is not 0.
  bool has_values(const std::string& tensor, int64_t except = -1) const;
  void drop_output_bias();  // the table then lacks it
  // Reads a parameter of Weft, and throws an Error of kind checkpoint if a value is not finite. An output bias that
  // the table lacks is one of zeros.
  void read(const std::string& parameter, float* values) const;

 private:
  void read(const ForeignTensor& tensor, float* ours) const;
  void read_rows(const ForeignTensor& tensor, float* ours) const;
  void read_transposed(const ForeignTensor& tensor, float* ours) const;
  void copy(const ForeignTensor& tensor, int64_t first, int64_t count, float* to) const;
  [[noreturn]] void refuse(const ForeignTensor& tensor, const std::string& why) const;
};

}  // namespace weft
