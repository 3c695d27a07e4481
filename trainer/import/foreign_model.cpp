// trainer/import/foreign_model.cpp: copies the tensors of other programs to the places of Weft's parameters.
#include "trainer/import/foreign_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tensor/error.h"
#include "trainer/checkpoint/finite.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft {
namespace {

using Form = ForeignTensor::Form;

constexpr int64_t kChunk = 1 << 20;  // values that are read at a time
constexpr int64_t kTile = 32;        // rows and columns that are transposed together, so that both stay in the cache

bool is_table(const ForeignTensor& t) { return t.form == Form::source_table || t.form == Form::target_table; }

void transpose(const std::vector<float>& from, int64_t rows, int64_t columns, float* to) {
  for (int64_t r = 0; r < rows; r += kTile)
    for (int64_t c = 0; c < columns; c += kTile)
      for (int64_t i = r; i < std::min(r + kTile, rows); ++i)
        for (int64_t j = c; j < std::min(c + kTile, columns); ++j)
          to[j * rows + i] = from[static_cast<size_t>(i * columns + j)];
}

}  // namespace

void ForeignModel::refuse(const ForeignTensor& tensor, const std::string& why) const {
  fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}' {}", files.file_of(tensor.name), tensor.name, why));
}

void ForeignModel::check(const std::function<bool(const std::string& name)>& is_redundant) const {
  std::set<std::string> wanted;
  for (const ForeignTensor& t : tensors) {
    wanted.insert(t.name);
    if (!files.has(t.name)) fail(ErrorKind::checkpoint, fmt::format("{} lacks tensor '{}'", from, t.name));
    std::vector<int64_t> shape = t.shape;
    if (t.form == Form::positions) shape[0] += unused_positions;
    if (files.shape(t.name) != shape)
      refuse(t, fmt::format("has shape {}, but {} describes {}", str(files.shape(t.name)), config, str(shape)));
  }
  for (const std::string& name : files.names())
    if (!wanted.contains(name) && !is_redundant(name))
      fail(ErrorKind::checkpoint,
           fmt::format("{}: tensor '{}' has no counterpart in Weft's model", files.file_of(name), printable(name)));
}

bool ForeignModel::has_values(const std::string& tensor, int64_t except) const {
  std::vector<float> values(static_cast<size_t>(files.shape(tensor).back()));
  files.read(tensor, 0, std::ssize(values), values.data());
  if (except >= 0) values.at(static_cast<size_t>(except)) = 0;
  return std::ranges::any_of(values, [](float v) { return v != 0; });
}

void ForeignModel::drop_output_bias() {
  std::erase_if(tensors, [](const ForeignTensor& t) { return t.form == Form::output_bias; });
}

void ForeignModel::read(const std::string& parameter, float* values) const {
  if (parameter == "output.bias")
    for (size_t id = 0; id < target_rows.size(); ++id) values[id] = target_rows[id] == kNewRow ? kNeverPredicted : 0;
  for (const ForeignTensor& t : tensors)
    if (t.ours == parameter) read(t, values);
}

void ForeignModel::read(const ForeignTensor& t, float* ours) const {
  if (is_table(t) || t.form == Form::output_bias) return read_rows(t, ours);
  if (t.form == Form::positions) return copy(t, unused_positions * width, t.shape[0] * width, ours);
  float* part = ours + t.first * t.columns();
  t.transposed ? read_transposed(t, part) : copy(t, t.their_first * t.columns(), t.rows() * t.columns(), part);
}

// Reads rows in our order. Runs of neighboring rows are read together.
void ForeignModel::read_rows(const ForeignTensor& t, float* ours) const {
  const std::vector<int64_t>& rows = t.form == Form::source_table ? source_rows : target_rows;
  const int64_t columns = t.columns();
  std::vector<float> all;
  if (t.transposed) read_transposed(t, (all = std::vector<float>(static_cast<size_t>(t.rows() * columns))).data());
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    for (end = begin + 1; end < rows.size() && rows[begin] != kNewRow && rows[end] == rows[end - 1] + 1;) ++end;
    const int64_t first = rows[begin] * columns, count = static_cast<int64_t>(end - begin) * columns;
    float* to = ours + static_cast<int64_t>(begin) * columns;
    if (rows[begin] == kNewRow) {
      std::fill_n(to, columns, t.form == Form::output_bias ? kNeverPredicted : 0.0f);
    } else if (t.transposed) {
      std::copy_n(all.begin() + first, count, to);
    } else {
      copy(t, first, count, to);
    }
  }
}

void ForeignModel::read_transposed(const ForeignTensor& t, float* ours) const {
  std::vector<float> theirs(static_cast<size_t>(t.rows() * t.columns()));
  copy(t, 0, std::ssize(theirs), theirs.data());
  transpose(theirs, t.columns(), t.rows(), ours);
}

void ForeignModel::copy(const ForeignTensor& t, int64_t first, int64_t count, float* to) const {
  for (int64_t at = 0; at < count; at += kChunk) {
    const int64_t part = std::min(kChunk, count - at);
    files.read(t.name, first + at, part, to + at);
    if (const std::string bad = describe_not_finite(to + at, {part}); !bad.empty())
      refuse(t, fmt::format("contains {} from value {} on", bad, first + at));
  }
}

}  // namespace weft
