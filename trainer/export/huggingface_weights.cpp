// trainer/export/huggingface_weights.cpp: changes the order of columns, and adds rows for padding.
#include "trainer/export/huggingface_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "tensor/math.h"
#include "trainer/export/names/huggingface_names.h"

namespace weft {
namespace {

// Returns parameter values with padding, and with columns in the exported order.
class OrderedValues {
 public:
  explicit OrderedValues(const ExportedModel& model)
      : config_(model.config), weights_(model.config, model.params), padding_(padding_id(model)), D_(config_.width) {
    const bool in_pairs = config_.positions == Positions::interleaved;
    const int64_t num_sines = (D_ + 1) / 2;
    for (int64_t j = 0; j < D_; ++j) order_.push_back(!in_pairs ? j : j < num_sines ? 2 * j : 2 * (j - num_sines) + 1);
  }
  bool has(const std::string& ours) const { return weights_.has(ours); }

  Values positions() const {
    Values table;
    for (int64_t p = 0; p < kExportedPositions; ++p)
      for (int64_t j = 0; j < D_; ++j) table.push_back(static_cast<float>(sinusoid(PositionLayout::halves, p, j, D_)));
    return table;
  }
  Values table(const std::string& ours) const { return with_padding(columns(weights_.of(ours)), D_, 0); }
  Values output_bias() const {
    Values bias = config_.bias_output ? weights_.of("output.bias") : zeros(config_.target_vocabulary);
    return with_padding(std::move(bias), 1, kPaddingLogit);
  }
  Values vector(const std::string& ours) const { return columns(weights_.of(ours)); }  // [D]
  // from_width() returns `out` rows of a matrix [.., D], from row `first`; part() returns the same rows of its bias.
  Values from_width(const std::string& ours, int64_t first, int64_t out) const {
    return columns(weights_.rows(ours, first, out));
  }
  Values part(const std::string& ours, int64_t first, int64_t out) const { return weights_.part(ours, first, out); }
  Values to_width(const std::string& ours, int64_t in) const {  // [D, in]
    const Values matrix = weights_.of(ours);
    Values ordered;
    ordered.reserve(matrix.size());
    for (const int64_t from : order_)
      ordered.insert(ordered.end(), matrix.begin() + from * in, matrix.begin() + (from + 1) * in);
    return ordered;
  }
  static Values zeros(int64_t count) { return Values(static_cast<size_t>(count)); }

 private:
  Values columns(const Values& matrix) const {  // [.., D]
    Values ordered(matrix.size());
    for (size_t row = 0; row < matrix.size(); row += static_cast<size_t>(D_))
      for (size_t j = 0; j < static_cast<size_t>(D_); ++j)
        ordered[row + j] = matrix[row + static_cast<size_t>(order_[j])];
    return ordered;
  }
  Values with_padding(Values table, int64_t width, float value) const {
    table.insert(table.begin() + padding_ * width, static_cast<size_t>(width), value);
    return table;
  }

  const ModelConfig& config_;
  Weights weights_;
  int64_t padding_, D_;
  std::vector<int64_t> order_;  // for each exported column, its index in Weft's tensors
};

MakeValues exported_values(std::shared_ptr<const OrderedValues> v, const ForeignTensor& n) {
  using Form = ForeignTensor::Form;
  switch (n.form) {
    case Form::source_table:
    case Form::target_table:
      return [v, n] { return v->table(n.ours); };
    case Form::output_bias:
      return [v] { return v->output_bias(); };
    case Form::from_width:
      return [v, n] { return v->from_width(n.ours, n.first, n.shape[0]); };
    case Form::to_width:
      return [v, n] { return v->to_width(n.ours, n.shape[1]); };
    case Form::bias:
      return [v, n] { return v->has(n.ours) ? v->part(n.ours, n.first, n.shape[0]) : v->zeros(n.shape[0]); };
    default:
      return [v, n] { return v->has(n.ours) ? v->vector(n.ours) : v->zeros(n.shape[0]); };
  }
}

}  // namespace

int64_t padding_id(const ExportedModel& model) {
  return std::min(model.config.source_vocabulary, model.config.target_vocabulary);
}

std::map<std::string, HuggingFaceTensor> huggingface_tensors(const ExportedModel& model) {
  using Form = ForeignTensor::Form;
  const auto values = std::make_shared<const OrderedValues>(model);
  std::map<std::string, HuggingFaceTensor> tensors;
  for (ForeignTensor& n : huggingface_names(model.config)) {
    std::vector<int64_t> shape = n.shape;
    if (n.form == Form::source_table || n.form == Form::target_table) ++shape[0];
    if (n.form == Form::output_bias) ++shape[1];
    tensors[n.name] = {std::move(shape), exported_values(values, n)};
  }
  for (const char* side : {"encoder", "decoder"})
    tensors[fmt::format("model.{}.embed_positions.weight", side)] = {{kExportedPositions, model.config.width},
                                                                     [values] { return values->positions(); }};
  return tensors;
}

}  // namespace weft
