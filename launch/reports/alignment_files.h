// launch/reports/alignment_files.h: the files of `weft translate --alignment FILE`: choice of attention, file
// formats.
//
// The ending of a file's name selects the format: .svg is a drawing, .jsonl has every probability, any other
// is Pharaoh's `i-j`; a misspelt .svg or .jsonl is refused. Text files have one line for each sentence;
// finish() makes them appear atomically.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "launch/options/options.h"
#include "trainer/inference/alignment.h"

namespace weft {

struct AlignmentRequest {
  std::vector<std::string> files;
  std::string layer = "last", head = "mean";

  bool wanted() const { return !files.empty(); }
  void add_to(Options& options);
  void check(const Options& options) const;  // refuses a choice of layer or head without a file
  void check_files() const;                  // before any work: refuses files that cannot be written or are given twice
  Transformer::AttentionChoice choice(const ModelConfig& model) const;
  std::string describe(const ModelConfig& model) const;  // "layer 5, mean of 8 heads"
};

// Pairs of source and target token, counted from 0, by target: "0-0 2-1 1-2"; without eos. "" if there is
// none.
std::string pharaoh_line(const Alignment& alignment);
// {"source": [tokens and eos], "target": [tokens and eos], "weights": [a row for each target token]}
std::string json_line(const Alignment& alignment, const Tokenizer& source, const Tokenizer& target);
std::string drawing(const Alignment& alignment, const Tokenizer& source, const Tokenizer& target,
                    const std::string& title);

class AlignmentFile {
 public:
  virtual ~AlignmentFile() = default;
  virtual void add(const Alignment& alignment) = 0;  // for the next line of the input
  virtual void finish() = 0;
};

// `title` is the title of the drawings. NAME.svg is drawn for one sentence, NAME-0001.svg, NAME-0002.svg, ...
// for several ones, by line. Drawings of an earlier call with any of these names are removed first.
std::unique_ptr<AlignmentFile> open_alignment_file(const std::string& path, const Tokenizer& source,
                                                   const Tokenizer& target, const std::string& title);

}  // namespace weft
