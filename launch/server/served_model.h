// launch/server/served_model.h: a model that answers requests. Only one thread, always the same, may do its work.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/server/request.h"
#include "launch/server/server_metrics.h"
#include "launch/server/work_queue.h"
#include "trainer/inference/alignment.h"
#include "trainer/inference/model_loader.h"

namespace weft {

class ServedModel {
 public:
  ServedModel(std::string name, LoadedModel model);

  const std::string& name() const { return name_; }
  const LoadedModel& model() const { return model_; }
  std::string description() const;  // JSON object for /v1/models

  // These may be called by several threads. Throw an Error of kind usage for a request that this model cannot do.
  std::shared_ptr<Work> work_for(const ServedTranslation& request);
  std::shared_ptr<Work> work_for(const ServedPairs& request);

 private:
  struct TranslationWork;
  struct ScoreWork;
  Translator& translator_for(const std::string& kind, const SearchConfig& search);
  void translate(const std::vector<std::shared_ptr<Work>>& all, ServerMetrics& metrics);
  void score(const std::vector<std::shared_ptr<Work>>& all, ServerMetrics& metrics);

  std::string name_;
  LoadedModel model_;
  Aligner aligner_;
  int64_t longest_prefix_;
  std::list<std::pair<std::string, Translator>> translators_;  // by kind of work, the last used first
};

}  // namespace weft
