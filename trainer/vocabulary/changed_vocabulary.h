// trainer/vocabulary/changed_vocabulary.h: writes a model with other tokenizers: tables and the output's bias get the
// rows of the new entries, and all other parameters remain.
//
// The row of an entry is the mean of the rows of its old entries (data/subword/piece_changes.h). If there are none, it
// is the mean of all old rows but the special ones, plus normal noise of their standard deviation, counted like initial
// values. A bias gets no noise.
#pragma once

#include <map>
#include <string>

#include "data/subword/piece_changes.h"
#include "trainer/checkpoint/stored_model.h"
#include "trainer/config/run_config.h"

namespace weft {

struct ChangedVocabulary {
  EntryOrigins source, target;                    // equal if one tokenizer serves both sides
  std::map<std::string, std::string> tokenizers;  // contents of tokenizer.model, or of source.model and target.model
};

// Throws an Error of kind checkpoint unless the tensors have the names and shapes that `config` describes, and the
// tokenizers of the checkpoint the vocabularies' sizes.
void require_whole_model(const StoredModel& model, const RunConfig& config);

// Writes the model as a checkpoint under `root`, and returns its folder. `config` is the configuration of `model`.
// The new one names no corpora and no run. REQUIRES: require_whole_model().
std::string write_with_vocabulary(const StoredModel& model, RunConfig config, const ChangedVocabulary& vocabulary,
                                  const std::string& root);

}  // namespace weft
