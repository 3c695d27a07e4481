// trainer/checkpoint/average.cpp: reads the same numbers of every checkpoint and writes the means.
#include "trainer/checkpoint/average.h"

#include <algorithm>

#include "tensor/error.h"
#include "trainer/checkpoint/model_checkpoint.h"
#include "trainer/checkpoint/stored_model.h"

namespace weft {
namespace {

constexpr int64_t kPart = 1 << 20;  // elements read at once

// Weights with adapters are read at once, because all their rows change.
void write_mean(const std::vector<StoredModel>& sources, const std::string& name, const ModelCheckpoint::Put& put) {
  const int64_t all = sources.front().numel(name);
  const bool at_once = std::ranges::any_of(sources, [&](const StoredModel& s) { return s.adapts(name); });
  const int64_t part = at_once ? all : std::min(all, kPart);
  std::vector<float> values(static_cast<size_t>(part));
  std::vector<double> sums(static_cast<size_t>(part));
  for (int64_t first = 0; first < all; first += part) {
    const auto count = static_cast<size_t>(std::min(part, all - first));
    std::fill(sums.begin(), sums.end(), 0.0);
    for (const StoredModel& source : sources) {
      if (at_once)
        source.read(name, values.data());
      else
        source.read(name, first, static_cast<int64_t>(count), values.data());
      for (size_t i = 0; i < count; ++i) sums[i] += static_cast<double>(values[i]);
    }
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(sums[i] / static_cast<double>(sources.size()));
    put(values.data(), static_cast<int64_t>(count));
  }
}

}  // namespace

std::string average_checkpoints(const std::vector<std::string>& folders, StoredWeights which, const std::string& root,
                                const AverageContents& contents,
                                const std::function<void(int64_t, int64_t)>& on_progress) {
  require(!folders.empty(), ErrorKind::internal, "there are no checkpoints to average");
  std::vector<StoredModel> sources;
  for (const std::string& folder : folders) {
    sources.emplace_back(folder, which);
    sources.front().require_same_model(sources.back());
  }
  const StoredModel& last = sources.back();
  ModelCheckpoint mean{.step = last.manifest().step,
                       .shapes = last.shapes(),
                       .int8_rows = contents.int8_rows,
                       .read = [&](const std::string& name, const auto& put) { write_mean(sources, name, put); },
                       .state = contents.state,
                       .config = contents.config,
                       .tokenizers = {},
                       .on_progress = on_progress};
  for (const auto& [name, digest] : last.manifest().files)
    if (StoredModel::is_tokenizer(name)) mean.tokenizers[name] = CheckedReader(last.folder() + "/" + name).read_all();
  return write_model_checkpoint(root, mean);
}

}  // namespace weft
