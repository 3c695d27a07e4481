// launch/reports/alignment_files.h: the files of `weft translate --alignment FILE`: which attention is kept, and in
// what form.
//
// The ending of a file's name says the form: .svg draws, .jsonl keeps every probability, any other is Pharaoh's `i-j`;
// one that is nearly .svg or .jsonl is refused. Text files hold one line a sentence and appear whole when finish() is
// called, or not at all.
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
  void check(const Options& options) const;  // refuses a choice of attention that no file asks for
  void check_files() const;  // before any work: refuses what cannot be written, and one file given twice
  Transformer::AttentionChoice choice(const ModelConfig& model) const;
  std::string describe(const ModelConfig& model) const;  // "layer 5, mean of 8 heads"
};

// Source and target token joined, counted from 0: "0-0 2-1 1-2", by target; eos on neither side. "" if there is none.
std::string pharaoh_line(const Alignment& alignment);
// {"source": [pieces and eos], "target": [pieces and eos], "weights": [a row for each target piece]}
std::string json_line(const Alignment& alignment, const Tokenizer& source, const Tokenizer& target);
std::string drawing(const Alignment& alignment, const Tokenizer& source, const Tokenizer& target,
                    const std::string& title);

class AlignmentFile {
 public:
  virtual ~AlignmentFile() = default;
  virtual void add(const Alignment& alignment) = 0;  // of the next line of the input
  virtual void finish() = 0;
};

// `title` heads the drawings. A NAME.svg of one sentence is drawn to that file, of several to NAME-0001.svg,
// NAME-0002.svg, ..., by line. Drawings that an earlier call left under any of these names are removed first.
std::unique_ptr<AlignmentFile> open_alignment_file(const std::string& path, const Tokenizer& source,
                                                   const Tokenizer& target, const std::string& title);

}  // namespace weft
