// trainer/export/names/foreign_tensor.h: one row of the table that says where another program keeps Weft's parameters.
//
// A table serves both directions: the exporter writes its tensors, and the importer reads them. A tensor of the other
// program is a parameter of Weft or a part of its rows, because Weft keeps queries, keys and values in one matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct ForeignTensor {
  // What the first dimension of our matrix and the last one stand for. W is the model's width D.
  enum Form : uint8_t {
    source_table,  // [V source, W]
    target_table,  // [V target, W]
    output_bias,   // [V target]
    positions,     // [positions, W], trained
    width,         // [W]
    from_width,    // [out, W]
    bias,          // [out], of a matrix from_width
    to_width       // [W, in]
  };
  std::string name;  // "model.encoder.layers.0.self_attn.k_proj.weight"
  Form form;
  std::vector<int64_t> shape;  // in the file, without the rows that the other program adds
  std::string ours;            // "encoder.0.self_attention.qkv.weight", which may be a bias that the model lacks
  int64_t first = 0;           // the tensor is a part of ours, from this row on
  bool transposed = false;     // [in, out] in the file
  int64_t their_first = 0;     // the part begins at this row in the file; another part of ours follows or precedes it
  int64_t part_rows = 0;       // number of rows of the part; 0: the complete tensor

  bool is_vector() const { return form == output_bias || form == width || form == bias; }
  // Rows and columns of the part of our parameter. A vector has one column.
  int64_t rows() const { return part_rows > 0 ? part_rows : is_vector() || transposed ? shape.back() : shape.front(); }
  int64_t columns() const { return is_vector() ? 1 : transposed ? shape.front() : shape.back(); }
};

}  // namespace weft
