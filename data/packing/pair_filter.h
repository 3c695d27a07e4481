// data/packing/pair_filter.h: decides whether and why a pair is dropped, and records dropped pairs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "data/packing/pair_text.h"
#include "data/shards/shard.h"
#include "data/tally.h"
#include "data/text/scripts.h"
#include "data/text/unicode.h"
#include "tensor/enum_names.h"

namespace weft {

enum class OverLong : uint8_t { drop, cut };
constexpr EnumNames<OverLong, 2> enum_names(OverLong) { return {{{"drop", OverLong::drop}, {"cut", OverLong::cut}}}; }

// A pair is counted under the first fault that applies, in this order.
enum class Fault : uint8_t {
  empty,
  listed,
  identical,
  excluded,
  source_script,
  target_script,
  long_word,
  duplicate,
  too_short,
  too_long,
  ratio
};
inline constexpr size_t kNumFaults = static_cast<size_t>(Fault::ratio) + 1;

struct FilterOptions {
  bool drop_identical = false, drop_duplicates = false;
  std::string exclude;                       // files of lines that no side may equal, separated by commas
  std::string without;                       // file of line numbers (data/text/line_list.h)
  int64_t min_length = 1, max_length = 250;  // tokens per side
  OverLong over_long = OverLong::drop;
  double max_ratio = 0;                      // max tokens of the longer side per token of the shorter side; 0: any
  std::string source_script, target_script;  // in ScriptSet's syntax; "": any
  double max_foreign = 0.5;                  // max share of letters of other scripts
  int64_t max_word = 0;                      // max characters between white space; 0: any

  template <typename V>
  void fields(V& v) {
    v("max-length", max_length, "max tokens per sentence");
    v("over-long", over_long, "what to do with sentences above --max-length: drop the pair, or cut the sentence");
    v("min-length", min_length, "min tokens per sentence; drop pairs with a shorter sentence");
    v("max-ratio", max_ratio,
      "max ratio of tokens between the longer and the shorter side; drop pairs with a higher ratio; 0 = no limit");
    v("drop-identical", drop_identical, "drop pairs whose two sides are equal");
    v("drop-duplicates", drop_duplicates, "drop pairs that equal an earlier pair");
    v("exclude", exclude,
      "drop pairs with a side that equals a line of these files, such as test sets; separated by commas");
    v("without", without,
      "drop the lines whose numbers this file lists, one per line, as `weft audit --drop FILE` writes it");
    v("source-script", source_script,
      "Unicode script of the source, such as Latin or Han+Hiragana+Katakana; drop pairs in other scripts");
    v("target-script", target_script, "Unicode script of the target; drop pairs in other scripts");
    v("max-foreign", max_foreign, "max share of letters that are not in the given script; drop pairs with more");
    v("max-word", max_word, "drop pairs with a word of more than this many characters, such as 40; 0 = no limit");
  }
};

void check_filter_options(const FilterOptions& options);  // throws usage Errors
bool is_active(Fault fault, const FilterOptions& options);
std::string description(Fault fault, const FilterOptions& options);  // "a side is empty", "longer than 250 tokens"

class PairFilter {  // finds all faults but duplicates (data/packing/duplicates.h)
 public:
  explicit PairFilter(const FilterOptions& options);
  std::optional<Fault> of_text(const TextPair& pair, int64_t number) const;  // number: of the line, from 0
  std::optional<Fault> of_tokens(const PairIds& pair) const;

 private:
  bool is_excluded(const std::string& side) const { return excluded_.contains(std::string(trim(side))); }

  FilterOptions options_;
  std::unordered_set<int64_t> listed_;        // line numbers, from 0
  std::unordered_set<std::string> excluded_;  // lines without white space at the ends
  std::optional<ScriptSet> source_, target_;
};

struct DroppedPair {
  int64_t number = 0;  // counted from 0
  TextPair text;
};

using Drops = Tally<Fault, kNumFaults, DroppedPair>;

// Returns a text such as "3 dropped (a side is empty), 1 dropped (longer than 250 tokens)".
std::string list_of(const Drops& drops, const FilterOptions& options);

}  // namespace weft
