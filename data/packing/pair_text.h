// data/packing/pair_text.h: reads the pairs of a parallel text from two files, or from one file with a pair per line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/shards/manifest.h"
#include "data/text/text_reader.h"

namespace weft {

struct PairFiles {
  std::string source, target;             // two files, whose i-th lines form pair i; or:
  std::string tsv;                        // a file of tab-separated values, with a pair on each line
  std::string columns = "source,target";  // names of the tsv's columns in their order; "-" for unused columns
  std::string weights, scores;            // files with one number per pair, unless the tsv contains them
  std::string tag, target_tag;  // tags in front of every source and target (data/tags.h), unless the tsv contains them
};

struct TextPair {
  std::string source, target;
  std::string raw_target;  // with its invisible characters; empty if it has none
  float weight = 1, score = 0;
  std::string tag, target_tag;   // names of tags with spaces between them, or empty
  bool begins_document = false;  // true if the document column differs from the previous line's
};

bool has_documents(const PairFiles& files);      // true if a column names documents; throws the Errors of PairText
PairColumns columns_of(const PairFiles& files);  // the numbers stored with the pairs; throws the Errors of PairText

class PairText {
 public:
  // Throws a usage Error for columns that are unknown, given twice or missing, and TextReader's Errors for files.
  explicit PairText(const PairFiles& files);

  // Returns false at the end. Sides lose their invisible characters (data/text/invisible.h). Throws a data Error that
  // names the line if the line lacks columns or has an invalid number, and a data Error with both line counts if the
  // files differ in length.
  bool next(TextPair& pair);

  int64_t num_pairs() const;  // read so far
  int64_t bytes_read() const;
  int64_t file_bytes() const;
  std::string name() const;  // names of the files, for messages

 private:
  enum class Column : uint8_t { source, target, weight, score, tag, target_tag, document, none, rest };
  struct Input {
    TextReader text;
    std::vector<Column> columns;  // columns of a line; a single column is the complete line, including tabs
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
  std::string document_;          // document of the last line
  std::string tag_, target_tag_;  // tags of every pair, unless a column contains them
  std::vector<Input> inputs_;
};

// Reads the next pairs, enough work for a task: up to 1,024 pairs or about 1 MiB. Returns none at the end of the text.
std::vector<TextPair> read_some_pairs(const std::function<bool(TextPair&)>& next);

}  // namespace weft
