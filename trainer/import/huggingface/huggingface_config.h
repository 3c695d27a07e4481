// trainer/import/huggingface/huggingface_config.h: reads what a folder of transformers says about its model.
//
// The classes are those of Marian, Pegasus, mBART and M2M-100 (also NLLB), as in transformers 5.23.0. A value
// that the model's numbers depend on, and that Weft does not support, is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"

namespace weft {

struct HuggingFaceConfig {
  static constexpr int64_t kSeveralTokens = -2;

  std::string type;   // model_type of config.json: "marian", "m2m_100", ...
  ModelConfig model;  // all but start_token; the vocabularies are the rows of the tables
  DecodeConfig decode;
  bool has_languages = false;                          // the tokenizer has a token per language
  int64_t start = 0, bos = -1, eos = 0, padding = -1;  // ids in the vocabularies; -1: none
  bool has_padding_row = true;              // false: the probability of padding is 0, so its row can be left out
  std::vector<int64_t> never_predicted;     // ids of bad_words_ids, or kSeveralTokens
  std::vector<std::string> unused_options;  // of the search, which Weft does not have
  int64_t unused_positions = 0;             // rows of a table of positions before the first position
};

// Reads config.json and generation_config.json. Throws an Error of kind checkpoint if they are damaged, or if the model
// cannot be imported.
HuggingFaceConfig read_huggingface_config(const std::string& folder);

}  // namespace weft
