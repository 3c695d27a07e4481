// data/mix.cpp: reads and writes the text of a mix; opens its corpora.
#include "data/mix.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "data/block_plan.h"
#include "data/text/split.h"
#include "data/text/unicode.h"
#include "data/turns.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kThousandths = 1000;  // in which a weight is read
static_assert(1000 * kThousandths == Turns::kMostWeight);

// In thousandths; nothing if it is out of range.
std::optional<int64_t> weight_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0 && value <= 1000)) return std::nullopt;
  const double thousandths = std::round(value * kThousandths);
  if (thousandths < 1 || std::abs(value * kThousandths - thousandths) > 1e-6) return std::nullopt;
  return static_cast<int64_t>(thousandths);
}

}  // namespace

std::vector<WeightedFolder> parse_mix(const std::string& option, const std::string& text) {
  std::vector<WeightedFolder> mix;
  std::set<std::string> seen;
  for (const std::string& part : split_at_commas(text)) {
    const size_t colon = part.rfind(':');
    const bool weighted = colon != std::string::npos && part.find('/', colon) == std::string::npos;
    const std::string folder = weighted ? part.substr(0, colon) : part;
    if (folder.empty())
      fail(ErrorKind::usage, fmt::format("{} = '{}' lacks a folder: give FOLDER, or FOLDER:WEIGHT,FOLDER:WEIGHT",
                                         option, printable(text)));
    const std::optional<int64_t> weight = weighted ? weight_of(part.substr(colon + 1)) : kThousandths;
    if (!weight)
      fail(ErrorKind::usage,
           fmt::format("{}: the weight of '{}' is '{}': give a number from 0.001 to 1000 with at most "
                       "three decimals, such as {}:0.5 (write / after a folder whose name has a :)",
                       option, printable(folder), printable(part.substr(colon + 1)), printable(folder)));
    if (!seen.insert(folder).second)
      fail(ErrorKind::usage, fmt::format("{} names '{}' twice: give it one weight", option, printable(folder)));
    mix.push_back({folder, *weight});
  }
  if (std::ssize(mix) > Turns::kMostParts)
    fail(ErrorKind::usage, fmt::format("{} has {} corpora; a mix has at most {}: pack some of them together", option,
                                       mix.size(), Turns::kMostParts));
  int64_t divisor = 0;
  for (const WeightedFolder& part : mix) divisor = std::gcd(divisor, part.weight);
  for (WeightedFolder& part : mix) part.weight /= divisor;
  return mix;
}

void require_distinct_corpora(const std::vector<WeightedFolder>& folders) {
  std::map<std::string, std::string> seen;  // folders by the digests of their manifests
  for (const WeightedFolder& corpus : folders) {
    const auto [first, is_new] = seen.emplace(manifest_digest(corpus.folder), corpus.folder);
    if (!is_new)
      fail(ErrorKind::usage,
           fmt::format("{} and {} are the same corpus: give it one weight", first->second, corpus.folder));
  }
}

std::string mix_text(const std::vector<WeightedFolder>& folders) {
  if (folders.size() == 1) return folders[0].folder;
  std::string text;
  for (const WeightedFolder& f : folders) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", f.folder, f.weight);
  return text;
}

Mix Mix::of_folders(const std::vector<WeightedFolder>& folders) {
  Mix mix;
  for (const WeightedFolder& f : folders) {
    mix.parts.push_back({.corpus = std::ssize(mix.folders), .weight = f.weight, .min_score = f.min_score});
    mix.folders.push_back(f.folder);
  }
  return mix;
}

std::vector<Corpus> open_corpora(const Mix& mix) {
  std::vector<Corpus> corpora;
  for (const Mix::Part& part : mix.parts) corpora.emplace_back(mix.folder(part));
  return corpora;
}

int64_t source_rows_for(const Mix& mix, const std::vector<Corpus>& corpora, int64_t target_rows) {
  if (corpora.size() == 1) return BlockPlan::source_rows_for(corpora[0], target_rows);
  double source = 0, target = 0;  // of a mean pair
  for (size_t i = 0; i < corpora.size(); ++i) {
    const Manifest& m = corpora[i].manifest();
    if (m.num_pairs == 0) continue;  // refused elsewhere
    const double weight = static_cast<double>(mix.parts[i].weight) / static_cast<double>(m.num_pairs);
    source += weight * static_cast<double>(m.source_rows());
    target += weight * static_cast<double>(m.target_rows());
  }
  require(target > 0, ErrorKind::data, kNoPairs);
  return std::max<int64_t>(1, std::lround(source / target * static_cast<double>(target_rows) / 16)) * 16;
}

}  // namespace weft
