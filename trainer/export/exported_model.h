// trainer/export/exported_model.h: defines the input of the exporters to other engines, and rejects unsupported models.
//
// Each format has a header whose export function checks the model and writes the engine's files into an OutputFolder,
// which the caller commits. docs/deploy.md lists names, shapes and limits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "model/config.h"
#include "model/decoding/beam.h"
#include "model/parameters/param_store.h"
#include "trainer/export/output_folder.h"

namespace weft {

struct ExportedModel {
  const ModelConfig& config;
  const ParamStore& params;          // complete (tp = 1), f32, on the host
  const Tokenizer &source, &target;  // the same object if there is one tokenizer
  int64_t beam = 1;                  // default beam size of the engine, if its files can set a default
  double length_penalty = 0;
  LengthPenalty length_penalty_kind = LengthPenalty::gnmt;
  BeamKind beam_kind = BeamKind::shrinking;
  double max_length_factor = 0;  // maximum length of a translation: factor * source tokens + extra
  int64_t max_length_extra = 0;
  int64_t min_length = 1;
  bool allow_unknown = false;  // the unknown token may be predicted
  std::string folder;          // the checkpoint's folder, which contains the tokenizer models
  bool is_joint() const { return same_pieces(source, target); }
  bool has_one_tokenizer() const { return &source == &target; }  // a joint vocabulary with one normalization rule
  std::string source_file() const { return folder + (has_one_tokenizer() ? "/tokenizer.model" : "/source.model"); }
  std::string target_file() const { return folder + (has_one_tokenizer() ? "/tokenizer.model" : "/target.model"); }
};

// Number of positions in an exported table of sinusoids. The table is long enough for a target of 1,023 tokens after
// the first one, as in Weft, and a source of 1,024 tokens, to which CTranslate2 truncates, plus eos.
inline constexpr int64_t kExportedPositions = 1025;

// Throws an Error of kind usage: "ENGINE does not support OPTION = VALUE: WHAT_FITS".
[[noreturn]] void refuse_form(const std::string& engine, const std::string& option, const std::string& value,
                              const std::string& what_fits);

// Copies tokenizer.model, or source.model and target.model, from the checkpoint to `output`.
void copy_tokenizers(const ExportedModel& model, const OutputFolder& output);

// Returns the pieces of a vocabulary in the order of their ids.
std::vector<std::string> pieces_of(const Tokenizer& tokenizer);

}  // namespace weft
