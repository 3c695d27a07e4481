// trainer/export/exported_model.h: what an exporter of another engine's format is given, and how it refuses a form
// of the model that the engine cannot hold.
//
// Each format has its header with one function: it checks the model, then writes the engine's files into an
// OutputFolder, which the caller commits. Names, shapes and limits: docs/deploy.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "model/config.h"
#include "model/parameters/param_store.h"
#include "trainer/export/output_folder.h"

namespace weft {

struct ExportedModel {
  const ModelConfig& config;
  const ParamStore& params;          // whole (tp = 1), f32, on the host
  const Tokenizer &source, &target;  // the same object if the vocabulary is joint
  int64_t beam = 1;                  // what the engine's default search is set to, if its files can say so
  double length_penalty = 0;
  double max_length_factor = 0;  // a translation's limit: factor * source tokens + extra
  int64_t max_length_extra = 0;
  std::string folder;  // the checkpoint's, which has the tokenizers' files
  bool is_joint() const { return &source == &target; }
  std::string source_file() const { return folder + (is_joint() ? "/tokenizer.model" : "/source.model"); }
  std::string target_file() const { return folder + (is_joint() ? "/tokenizer.model" : "/target.model"); }
};

// Positions that an exported table of sinusoids has: a target of 1,023 tokens after its first one, as in Weft, and a
// source of the 1,024 tokens at which CTranslate2 cuts one, with their eos.
inline constexpr int64_t kExportedPositions = 1025;
int64_t exported_positions(const ModelConfig& config);  // or the rows of the learned tables

// An Error of kind usage: "ENGINE has no OPTION = VALUE: WHAT_FITS".
[[noreturn]] void refuse_form(const std::string& engine, const std::string& option, const std::string& value,
                              const std::string& what_fits);

// tokenizer.model, or source.model and target.model, as the checkpoint has them.
void copy_tokenizers(const ExportedModel& model, const OutputFolder& output);

// The pieces of a vocabulary in the order of their ids.
std::vector<std::string> pieces_of(const Tokenizer& tokenizer);

}  // namespace weft
