// tests/parity/reference_model.h: reads a model, its parameters and sentences from the files of
// tests/reference/pytorch/parity.py.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "tensor/error.h"
#include "tests/parity/reference_file.h"
#include "tests/support/definition/gradient_check.h"
#include "tests/support/small_model.h"
#include "trainer/export/pytorch_weights.h"

namespace weft::testing {

inline constexpr double kTolerance = 1e-5;  // f32 compared with PyTorch

inline void require_reference(bool ok, const std::string& what) {
  if (!ok) fail(ErrorKind::internal, "tests/reference/pytorch does not hold what the test expects: " + what);
}

// Sets the options for which the file has attributes of the same names.
struct OptionReader {
  const ReferenceFile& file;
  template <typename T>
  void operator()(const char* option, T& value, const char*, OnResume = OnResume::may_change) const {
    if (!file.has(option)) return;
    if constexpr (std::is_enum_v<T>) {
      const std::string text = file.text(option);
      const auto names = enum_names(T{});
      const auto found = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == text; });
      require_reference(found != names.end(), fmt::format("{} = {}", option, text));
      value = found->second;
    } else {
      value = static_cast<T>(file.number(option));
    }
  }
};

inline ModelConfig config_of(const ReferenceFile& file) {
  ModelConfig c;
  OptionReader options{file};
  c.fields(options);
  c.encoder_layers = c.decoder_layers = file.integer("layers");
  c.dropout = 0;
  c.resolve(/*tp=*/1);
  return c;
}

// A tensor of the file: a parameter under our name, or several concatenated ones under PyTorch's.
struct ReferenceTensor {
  std::string name;
  std::vector<const Param*> parts;
};

inline std::vector<ReferenceTensor> tensors_of(const ReferenceFile& file, const ModelConfig& config,
                                               const ParamStore& params) {
  std::vector<ReferenceTensor> tensors;
  if (file.has("norm_kind")) {  // a model that nn.Transformer does not support
    for (const Param& p : params.params()) tensors.push_back({p.spec.name, {&p}});
  } else {
    for (const PytorchTensor& t : pytorch_layout(config, params)) tensors.push_back({t.name, t.parts});
  }
  return tensors;
}

// Values of one kind (weights, gradients, ...) by our parameters' names, in global layout. `prefix`: the file
// has only the tensors whose names begin with it.
inline std::map<std::string, Doubles> parameters_of(const ReferenceFile& file, const std::string& kind,
                                                    const ModelConfig& config, const std::string& prefix = "") {
  std::map<std::string, Doubles> theirs;
  const Doubles all = file.numbers(kind);
  const std::vector<std::string> names = file.names("parameter_names");
  const std::vector<int32_t> sizes = file.integers("parameter_sizes");
  auto at = all.begin();
  for (size_t i = 0; i < names.size(); ++i) {
    theirs[names[i]] = Doubles(at, at + sizes[i]);
    at += sizes[i];
  }

  ParamStore params(0, 1);
  const Transformer model(config, params, /*max_positions=*/1);
  std::map<std::string, Doubles> ours;
  size_t num_found = 0;
  for (const ReferenceTensor& tensor : tensors_of(file, config, params)) {
    if (!tensor.name.starts_with(prefix)) continue;
    require_reference(theirs.contains(tensor.name), "no " + tensor.name);
    const Doubles& values = theirs.at(tensor.name);
    size_t begin = 0;
    for (const Param* part : tensor.parts) {
      const auto size = static_cast<size_t>(part->numel());
      require_reference(begin + size <= values.size(), tensor.name + " is too small");
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
      ours[part->spec.name] = Doubles(first, first + part->numel());
      begin += size;
    }
    require_reference(begin == values.size(), tensor.name + " is too large");
    ++num_found;
  }
  if (prefix.empty()) require_reference(num_found == theirs.size(), "parameters that we lack");
  return ours;
}

// This rank's slices of the values.
inline void put(Context& ctx, const std::map<std::string, Doubles>& values, const ParamStore& params) {
  for (const Param& p : params.params()) {
    const Doubles& global = values.at(p.spec.name);
    std::vector<float> local(static_cast<size_t>(p.numel()));
    slice_from_global(p, std::vector<float>(global.begin(), global.end()).data(), local.data());
    put(ctx, local, p.value);
  }
}

// The batch's sentences [share * n / shares, (share + 1) * n / shares) in one block, followed by unused rows.
inline Block block_of(const ReferenceFile& file, size_t share = 0, size_t shares = 1,
                      const std::vector<double>& weights = {}) {
  const auto sentences = [&](const std::string& side) {
    const std::vector<int32_t> pieces = file.integers(side);
    std::vector<std::vector<int32_t>> result;
    auto at = pieces.begin();
    for (int32_t length : file.integers(side + "_lengths")) {
      result.emplace_back(at, at + length);
      at += length;
    }
    return result;
  };
  const auto source = sentences("source"), target = sentences("target");
  BlockBuilder builder(/*source_rows=*/20, /*target_rows=*/24, !weights.empty());
  for (size_t i = share * source.size() / shares; i < (share + 1) * source.size() / shares; ++i)
    builder.add(source[i], target[i], {}, weights.empty() ? 1 : static_cast<float>(weights[i]));
  return builder.finish(static_cast<int64_t>(share));
}

}  // namespace weft::testing
