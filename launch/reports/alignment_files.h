// launch/reports/alignment_files.h: writes the files of `weft translate --alignment FILE`.
//
// The extension of a file's name selects the format: .svg is a drawing, .jsonl contains all weights, and any other
// extension means Pharaoh's format `i-j`. A misspelled .svg or .jsonl is refused. Text files contain one line per
// sentence. A text file appears only when finish() has completed it.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "launch/options/options.h"
#include "trainer/inference/alignment.h"

namespace weft {

struct AlignmentRequest {
  static constexpr const char* kInJson = "-";  // in `files`: print the links with `weft translate --json`

  std::vector<std::string> files;
  std::string layer = "last", head = "mean";

  bool in_json() const { return std::ranges::find(files, kInJson) != files.end(); }
  bool wanted() const { return !files.empty(); }
  std::vector<std::string> paths() const;  // without kInJson
  bool draws() const;                      // whether a file is a drawing
  void add_to(Options& options);
  void check(const Options& options) const;  // refuses --alignment-layer and -head without a file, and - without --json
  void check_files() const;                  // refuses files that cannot be written or are given twice
  Transformer::AttentionChoice choice(const ModelConfig& model) const;
  std::string describe(const ModelConfig& model) const;  // "layer 5, mean of 8 heads"
};

// Returns the pairs of source and target token, counted from 0 and ordered by target, without eos: "0-0 2-1 1-2".
std::string pharaoh_line(const Alignment& alignment);
// Returns {"source": [tokens and eos], "target": [tokens and eos], "weights": [one row per target token]}.
std::string json_line(const Alignment& alignment, const Tokenizer& source, const Tokenizer& target);
std::string drawing(const Alignment& alignment, const Tokenizer& source, const Tokenizer& target,
                    const std::string& title);

// Returns the line of a file with this name, which must not be one of drawings.
std::string alignment_line(const std::string& path, const Alignment& alignment, const Tokenizer& source,
                           const Tokenizer& target);

class AlignmentFile {
 public:
  virtual ~AlignmentFile() = default;
  virtual void add(const Alignment& alignment) = 0;  // for the next line of the input
  virtual void finish() = 0;
};

// `title` is the title of the drawings. A single line is drawn to NAME.svg. Several lines are drawn to NAME-0001.svg,
// NAME-0002.svg, ... in their order. Earlier drawings with any of these names are removed first.
std::unique_ptr<AlignmentFile> open_alignment_file(const std::string& path, const Tokenizer& source,
                                                   const Tokenizer& target, const std::string& title);

}  // namespace weft
