// data/packing/pair_filter.cpp: lists and finds the faults of a pair.
#include "data/packing/pair_filter.h"

#include <algorithm>
#include <utility>

#include "data/text/invisible.h"
#include "data/text/line_list.h"
#include "data/text/split.h"
#include "data/text/text_reader.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

bool is_blank(std::string_view text) {
  const bool begins_with_a_sign = !text.empty() && text[0] > ' ';  // visible ASCII: no need to look further
  return !begins_with_a_sign && trim(text).empty();
}

struct Filter {
  Fault fault;
  bool (*is_active)(const FilterOptions& o);
  std::string (*description)(const FilterOptions& o);
};
using O = FilterOptions;
// The filters are in the order of Fault.
constexpr Filter kFilters[] = {
    {Fault::empty, [](const O&) { return true; }, [](const O&) { return std::string("a side is empty"); }},
    {Fault::listed, [](const O& o) { return !o.without.empty(); },
     [](const O&) { return std::string("listed in the file of --without"); }},
    {Fault::identical, [](const O& o) { return o.drop_identical; },
     [](const O&) { return std::string("both sides are equal"); }},
    {Fault::excluded, [](const O& o) { return !o.exclude.empty(); },
     [](const O&) { return std::string("a side equals a line of --exclude"); }},
    {Fault::source_script, [](const O& o) { return !o.source_script.empty(); },
     [](const O& o) { return "source not in " + o.source_script; }},
    {Fault::target_script, [](const O& o) { return !o.target_script.empty(); },
     [](const O& o) { return "target not in " + o.target_script; }},
    {Fault::long_word, [](const O& o) { return o.max_word > 0; },
     [](const O& o) { return fmt::format("a word longer than {} characters", o.max_word); }},
    {Fault::duplicate, [](const O& o) { return o.drop_duplicates; },
     [](const O&) { return std::string("the same as an earlier one"); }},
    {Fault::too_short, [](const O& o) { return o.min_length > 1; },
     [](const O& o) { return fmt::format("shorter than {} tokens", o.min_length); }},
    {Fault::too_long, [](const O&) { return true; },
     [](const O& o) { return fmt::format("longer than {} tokens", o.max_length); }},
    {Fault::ratio, [](const O& o) { return o.max_ratio > 0; },
     [](const O& o) { return fmt::format("ratio of lengths above {}", o.max_ratio); }},
};

constexpr bool is_ordered() {
  size_t next = 0;
  for (const Filter& filter : kFilters)
    if (filter.fault != static_cast<Fault>(next++)) return false;
  return next == kNumFaults;
}
static_assert(is_ordered());

int64_t longest_word(std::string_view source, std::string_view target) {
  int64_t longest = 0;
  for (const std::string_view side : {source, target})
    for (const std::string_view word : split_words(side)) longest = std::max(longest, num_characters(word));
  return longest;
}

void require_scripts_and_files(const FilterOptions& o) { static_cast<void>(PairFilter(o)); }

}  // namespace

void check_filter_options(const FilterOptions& o) {
  if (o.max_length < 1) fail(ErrorKind::usage, fmt::format("--max-length {}: must be at least 1", o.max_length));
  if (o.min_length < 1 || o.min_length > o.max_length)
    fail(ErrorKind::usage,
         fmt::format("--min-length {}: must be between 1 and --max-length ({})", o.min_length, o.max_length));
  if (o.max_ratio != 0 && !(o.max_ratio >= 1))
    fail(ErrorKind::usage, fmt::format("--max-ratio {}: must be at least 1, or 0 for no limit", o.max_ratio));
  if (!(o.max_foreign >= 0 && o.max_foreign < 1))
    fail(ErrorKind::usage, fmt::format("--max-foreign {}: must be at least 0 and below 1", o.max_foreign));
  if (o.max_word < 0)
    fail(ErrorKind::usage, fmt::format("--max-word {}: must be at least 1, or 0 for no limit", o.max_word));
  require_scripts_and_files(o);
}

bool is_active(Fault fault, const FilterOptions& o) { return kFilters[static_cast<size_t>(fault)].is_active(o); }

std::string description(Fault fault, const FilterOptions& o) {
  return kFilters[static_cast<size_t>(fault)].description(o);
}

PairFilter::PairFilter(const FilterOptions& options) : options_(options) {
  if (!options.source_script.empty()) source_.emplace(options.source_script, "--source-script");
  if (!options.target_script.empty()) target_.emplace(options.target_script, "--target-script");
  if (!options.without.empty()) listed_ = read_line_list(options.without).numbers;
  if (options.exclude.empty()) return;
  for (const std::string& file : split_at_commas(options.exclude)) {
    TextReader lines(file);
    for (std::string line; lines.next(line);) excluded_.emplace(trim(without_invisible(line)));
  }
}

std::optional<Fault> PairFilter::of_text(const TextPair& pair, int64_t number) const {
  if (is_blank(pair.source) || is_blank(pair.target)) return Fault::empty;
  if (listed_.contains(number)) return Fault::listed;
  if (options_.drop_identical && trim(pair.source) == trim(pair.target)) return Fault::identical;
  if (!excluded_.empty() && (is_excluded(pair.source) || is_excluded(pair.target))) return Fault::excluded;
  if (source_ && source_->foreign_share(pair.source) > options_.max_foreign) return Fault::source_script;
  if (target_ && target_->foreign_share(pair.target) > options_.max_foreign) return Fault::target_script;
  if (options_.max_word > 0 && longest_word(pair.source, pair.target) > options_.max_word) return Fault::long_word;
  return std::nullopt;
}

std::optional<Fault> PairFilter::of_tokens(const PairIds& pair) const {
  const int64_t shorter = std::ssize(pair.source.size() < pair.target.size() ? pair.source : pair.target);
  const int64_t longer = std::ssize(pair.source.size() < pair.target.size() ? pair.target : pair.source);
  if (shorter < options_.min_length) return Fault::too_short;
  if (longer > options_.max_length && options_.over_long == OverLong::drop) return Fault::too_long;
  if (options_.max_ratio > 0 && static_cast<double>(longer) > options_.max_ratio * static_cast<double>(shorter))
    return Fault::ratio;
  return std::nullopt;
}

std::string list_of(const Drops& drops, const FilterOptions& options) {
  std::string list;
  for (size_t i = 0; i < kNumFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (drops.count(fault) == 0) continue;
    list += fmt::format("{}{} dropped ({})", list.empty() ? "" : ", ", drops.count(fault), description(fault, options));
  }
  return list;
}

}  // namespace weft
