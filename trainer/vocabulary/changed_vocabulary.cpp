// trainer/vocabulary/changed_vocabulary.cpp: computes rows of tables.
#include "trainer/vocabulary/changed_vocabulary.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "data/batch.h"
#include "data/tokenizer.h"
#include "model/transformer.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "trainer/checkpoint/model_checkpoint.h"
#include "trainer/config/config_text.h"
#include "trainer/train_state.h"

namespace weft {
namespace {

constexpr uint64_t kSeed = 1;

// Returns the origins of a parameter's rows, or nullptr if it has no row for each entry.
const EntryOrigins* origins_for(const std::string& name, const ChangedVocabulary& vocabulary) {
  if (name == "source_embedding.weight") return &vocabulary.source;
  const bool is_target = name == "target_embedding.weight" || name == "embedding.weight" || name == "output.weight" ||
                         name == "output.bias";
  return is_target ? &vocabulary.target : nullptr;
}

class OldRows {
 public:
  OldRows(const StoredModel& model, const std::string& name, int64_t num_rows)
      : name_(name), width_(model.numel(name) / num_rows), values_(static_cast<size_t>(model.numel(name))) {
    model.read(name, values_.data());
    mean_.assign(static_cast<size_t>(width_), 0);
    const auto rows = static_cast<double>(num_rows - SpecialIds::count);
    double sum = 0, squares = 0;
    for (size_t i = SpecialIds::count * mean_.size(); i < values_.size(); ++i) {  // special rows may be like no others
      const double x = values_[i];
      mean_[i % mean_.size()] += x / rows;
      sum += x, squares += x * x;
    }
    const double count = rows * static_cast<double>(width_);
    deviation_ = std::sqrt(std::max(0.0, squares / count - sum / count * sum / count));
  }
  int64_t width() const { return width_; }

  void row(size_t entry, const std::vector<int64_t>& of, float* to) const {
    if (of.empty()) return new_row(entry, to);
    for (int64_t i = 0; i < width_; ++i) {
      double sum = 0;
      for (const int64_t old : of) sum += values_[static_cast<size_t>(old * width_ + i)];
      to[i] = static_cast<float>(sum / static_cast<double>(of.size()));
    }
  }

 private:
  void new_row(size_t entry, float* to) const {
    if (width_ == 1) return void(to[0] = static_cast<float>(mean_[0]));  // noise in a bias would prefer some entries
    Context host;
    ops::init(host, {.x = Tensor(to, {width_}),
                     .outer = 1,
                     .dim = 1,
                     .inner = width_,
                     .begin = static_cast<int64_t>(entry),
                     .global_dim = std::numeric_limits<int32_t>::max(),
                     .kind = ops::Init::Kind::normal,
                     .value = static_cast<float>(deviation_),
                     .seed = kSeed,
                     .purpose = purpose_of(name_)});
    for (int64_t i = 0; i < width_; ++i) to[i] += static_cast<float>(mean_[static_cast<size_t>(i)]);
  }

  std::string name_;
  int64_t width_;
  std::vector<float> values_;
  std::vector<double> mean_;
  double deviation_ = 0;
};

void write_rows(const OldRows& old, const EntryOrigins& origins, const ModelCheckpoint::Put& put) {
  std::vector<float> row(static_cast<size_t>(old.width()));
  for (size_t entry = 0; entry < origins.of_entry.size(); ++entry) {
    old.row(entry, origins.of_entry[entry], row.data());
    put(row.data(), old.width());
  }
}

}  // namespace

void require_whole_model(const StoredModel& model, const RunConfig& config) {
  ModelConfig m = config.model;
  m.lora = {};  // merged
  m.resolve(/*tp=*/1);
  ParamStore params(/*tp_rank=*/0, /*tp_size=*/1);
  const Transformer declared(m, params, /*num_positions=*/1);
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const Param& p : params.params()) shapes[p.spec.name] = dims_of(p.spec.shape);
  if (shapes != model.shapes())
    fail(ErrorKind::checkpoint,
         fmt::format("{}: its tensors are not those of the model in its {}", model.folder(), kConfigFile));
  for (const auto& [file, size] : {std::pair("/tokenizer.model", m.target_vocabulary),
                                   {"/source.model", m.source_vocabulary},
                                   {"/target.model", m.target_vocabulary}})
    if (std::filesystem::exists(model.folder() + file) && Tokenizer(model.folder() + file).size() != size)
      fail(ErrorKind::checkpoint,
           fmt::format("{}{} does not have the {} entries of the model", model.folder(), file, size));
}

std::string write_with_vocabulary(const StoredModel& model, RunConfig config, const ChangedVocabulary& vocabulary,
                                  const std::string& root) {
  config.model.lora = {};  // merged
  config.data.train = config.data.valid = config.train.output = config.train.init = "";
  config.stages.clear();
  config.model.source_vocabulary = std::ssize(vocabulary.source.of_entry);
  config.model.target_vocabulary = std::ssize(vocabulary.target.of_entry);
  ModelCheckpoint changed{.step = 0,
                          .shapes = model.shapes(),
                          .read = {},
                          .state = TrainState().to_json(),
                          .config = to_cfg(config),
                          .tokenizers = vocabulary.tokenizers};
  for (auto& [name, shape] : changed.shapes)
    if (const EntryOrigins* origins = origins_for(name, vocabulary)) shape.front() = std::ssize(origins->of_entry);
  changed.read = [&](const std::string& name, const ModelCheckpoint::Put& put) {
    if (const EntryOrigins* origins = origins_for(name, vocabulary))
      return write_rows(OldRows(model, name, model.shapes().at(name).front()), *origins, put);
    std::vector<float> values(static_cast<size_t>(model.numel(name)));
    model.read(name, values.data());
    put(values.data(), std::ssize(values));
  };
  return write_model_checkpoint(root, changed);
}

}  // namespace weft
