// data/order/mix.cpp: parses and writes the text of a mix, and checks its corpora.
#include "data/order/mix.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "data/order/turns.h"
#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kThousandths = 1000;  // weights are read in thousandths
static_assert(1000 * kThousandths == Turns::kMaxWeight);

// Returns a weight in thousandths, or nothing if the text is not a valid weight.
std::optional<int64_t> weight_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 1000)) return std::nullopt;
  const double thousandths = std::round(value * kThousandths);
  if (thousandths < 1 || std::abs(value * kThousandths - thousandths) > 1e-6) return std::nullopt;
  return static_cast<int64_t>(thousandths);
}

}  // namespace

std::vector<MixCorpus> parse_mix(const std::string& option, const std::string& text) {
  std::vector<MixCorpus> mix;
  std::set<std::string> seen;
  for (const std::string& part : split_at_commas(text)) {
    const size_t colon = find_colon_after_folder(part);
    const bool weighted = colon != std::string::npos;
    const std::string folder = part.substr(0, colon);
    if (folder.empty())
      fail(ErrorKind::usage, fmt::format("{} = '{}' lacks a folder: give FOLDER, or FOLDER:WEIGHT,FOLDER:WEIGHT",
                                         option, printable(text)));
    const std::optional<int64_t> weight = weighted ? weight_of(part.substr(colon + 1)) : kThousandths;
    if (!weight)
      fail(ErrorKind::usage,
           fmt::format("{}: the weight of '{}' is '{}', but must be a number from 0.001 to 1000 with at most three "
                       "decimals, as in {}:0.5 (if the folder's name contains a colon, write / after the name)",
                       option, printable(folder), printable(part.substr(colon + 1)), printable(folder)));
    if (!seen.insert(folder).second)
      fail(ErrorKind::usage, fmt::format("{} names '{}' twice: give it one weight", option, printable(folder)));
    mix.push_back({.folder = folder, .weight = *weight});
  }
  if (std::ssize(mix) > Turns::kMaxParts)
    fail(ErrorKind::usage, fmt::format("{} names {} corpora, but a mix may have at most {}: pack some of them together",
                                       option, mix.size(), Turns::kMaxParts));
  int64_t divisor = 0;
  for (const MixCorpus& part : mix) divisor = std::gcd(divisor, part.weight);
  for (MixCorpus& part : mix) part.weight /= divisor;
  return mix;
}

void require_distinct_corpora(const std::vector<MixCorpus>& corpora) {
  std::map<std::string, std::string> seen;  // folders, keyed by the digests of their manifests
  for (const MixCorpus& corpus : corpora) {
    const auto [first, is_new] = seen.emplace(corpus.manifest().sha256, corpus.folder);
    if (!is_new)
      fail(ErrorKind::usage,
           fmt::format("{} and {} are the same corpus: name it once, with one weight", first->second, corpus.folder));
  }
}

std::string mix_text(const std::vector<MixCorpus>& corpora) {
  if (corpora.size() == 1) return corpora[0].folder;
  std::string text;
  for (const MixCorpus& c : corpora) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", c.folder, c.weight);
  return text;
}

// Adds the rows that each corpus contributes to the mix during one epoch of the first corpus.
int64_t source_rows_for(const std::vector<MixCorpus>& corpora, int64_t target_rows) {
  double source = 0, target = 0;
  const auto of_pair = [](const MixCorpus& c) {
    return static_cast<double>(c.weight) / static_cast<double>(c.num_pairs);
  };
  for (const MixCorpus& corpus : corpora) {
    if (corpus.num_pairs == 0) continue;  // an empty corpus is refused elsewhere
    const double share = &corpus == &corpora.front() ? 1 : of_pair(corpus) / of_pair(corpora.front());
    source += share * static_cast<double>(corpus.manifest().source_rows());
    target += share * static_cast<double>(corpus.manifest().target_rows());
  }
  require(target > 0, ErrorKind::data, "the corpus contains no pairs; pack text that contains some");
  const double rows = source * static_cast<double>(target_rows) / (16 * target);
  return std::max<int64_t>(1, std::lround(rows)) * 16;
}

}  // namespace weft
