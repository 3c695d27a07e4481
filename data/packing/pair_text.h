// data/packing/pair_text.h: the pairs of a parallel text, from two files or from one with a pair on each line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/shards/manifest.h"
#include "data/text/text_reader.h"

namespace weft {

struct PairFiles {
  std::string source, target;             // line i of one translates line i of the other; or
  std::string tsv;                        // tab-separated values, the pair's columns in each line
  std::string columns = "source,target";  // names of the tsv's columns in their order; others are "-"
  std::string weights, scores;            // files with a number for each pair, unless the tsv has them
  std::string tag, target_tag;            // in front of every source and target (data/tags.h), unless the tsv has them
};

struct TextPair {
  std::string source, target;
  float weight = 1, score = 0;
  std::string tag, target_tag;   // names of tags with spaces between them, or none
  bool begins_document = false;  // the column of documents has another value than the line before
};

bool has_documents(const PairFiles& files);      // a column of them; the same Errors
PairColumns columns_of(const PairFiles& files);  // the numbers that its pairs have; throws the Errors of PairText

class PairText {
 public:
  // A usage Error for columns that are unknown, given twice or missing; TextReader's Errors for files.
  explicit PairText(const PairFiles& files);

  // False at the end. A data Error for a line with too few columns or what is no number, which it names, and for files
  // of different length, with both numbers.
  bool next(TextPair& pair);

  int64_t num_pairs() const;  // read so far
  int64_t bytes_read() const;
  int64_t file_bytes() const;
  std::string name() const;  // of its files, for messages

 private:
  enum class Column : uint8_t { source, target, weight, score, tag, target_tag, document, none };
  struct Input {
    TextReader text;
    std::vector<Column> columns;  // of a line; one: the whole line, with its tabs
  };
  friend PairColumns columns_of(const PairFiles& files);
  friend bool has_documents(const PairFiles& files);
  static std::vector<Column> parse_columns(const std::string& names);
  static std::vector<std::pair<const std::string*, std::vector<Column>>> inputs_of(const PairFiles& files);
  bool read(Input& input, TextPair& pair);
  void split(const Input& input, TextPair& pair);
  void take(Column column, std::string_view value, const TextReader& text, TextPair& pair);
  [[noreturn]] void fail_uneven();

  std::string column_names_, line_;
  std::string document_;          // of the last line
  std::string tag_, target_tag_;  // of every pair, unless there is a column
  std::vector<Input> inputs_;
};

}  // namespace weft
