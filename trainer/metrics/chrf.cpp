// trainer/metrics/chrf.cpp: counts a segment's character and word n-grams and computes the F score.
#include "trainer/metrics/chrf.h"

#include <algorithm>
#include <unordered_map>

#include "data/text/unicode.h"
#include "tensor/error.h"
#include "trainer/metrics/references.h"
#include "trainer/version.h"

namespace weft {
namespace {

constexpr int kCharOrder = ChrfOptions::kCharOrder;
constexpr int kNumOrders = kCharOrder + ChrfOptions::kMaxWordOrder;

bool is_ascii_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Splits off a word's last character if it is punctuation, otherwise its first character if that is punctuation.
std::vector<std::string_view> cut_punctuation(const std::vector<std::string_view>& words) {
  std::vector<std::string_view> out;
  for (const std::string_view word : words) {
    const bool single = word.size() == static_cast<size_t>(code_point_at(word, 0).num_bytes);
    size_t cut = 0;
    if (!single && is_ascii_punctuation(word.back())) {
      cut = word.size() - 1;
    } else if (!single && is_ascii_punctuation(word.front())) {
      cut = 1;
    }
    if (cut > 0) out.push_back(word.substr(0, cut));
    out.push_back(word.substr(cut));
  }
  return out;
}

// Contains a text and the positions of its units, which are characters or words. An n-gram is a substring of the text.
struct Units {
  std::string text;
  std::vector<size_t> begins, ends;  // byte offsets of each unit

  size_t size() const { return begins.size(); }
  std::unordered_map<std::string_view, int64_t> ngrams(size_t order) const {
    std::unordered_map<std::string_view, int64_t> counts;
    for (size_t i = 0; i + order <= size(); ++i) {
      ++counts[std::string_view(text).substr(begins[i], ends[i + order - 1] - begins[i])];
    }
    return counts;
  }
};

Units characters_of(const std::vector<std::string_view>& words) {
  Units units;
  for (const std::string_view word : words) units.text.append(word);
  for (size_t i = 0; i < units.text.size(); i = units.ends.back()) {
    units.begins.push_back(i);
    units.ends.push_back(i + code_point_at(units.text, i).num_bytes);
  }
  return units;
}

Units words_of(const std::vector<std::string_view>& words) {
  Units units;
  for (const std::string_view word : cut_punctuation(words)) {
    if (!units.text.empty()) units.text.push_back(' ');
    units.begins.push_back(units.text.size());
    units.text.append(word);
    units.ends.push_back(units.text.size());
  }
  return units;
}

ChrfStats::Order compare(const Units& hypothesis, const Units& reference, size_t order) {
  const auto reference_counts = reference.ngrams(order);
  ChrfStats::Order result;
  if (reference_counts.empty()) return result;  // sacreBLEU then does not count the hypothesis either
  for (const auto& [ngram, count] : reference_counts) result.reference += count;
  for (const auto& [ngram, count] : hypothesis.ngrams(order)) {
    result.hypothesis += count;
    const auto found = reference_counts.find(ngram);
    if (found != reference_counts.end()) result.matches += std::min(count, found->second);
  }
  return result;
}

// Averages precision and recall over the n-gram orders that both the hypothesis and the reference contain.
double f_score(const ChrfStats& stats) {
  constexpr double kFactor = ChrfOptions::kBeta * ChrfOptions::kBeta;
  double precision = 0, recall = 0;
  int num_orders = 0;
  for (const ChrfStats::Order& order : stats.orders) {
    if (order.hypothesis == 0 || order.reference == 0) continue;
    precision += static_cast<double>(order.matches) / order.hypothesis;
    recall += static_cast<double>(order.matches) / order.reference;
    ++num_orders;
  }
  if (precision + recall == 0) return 0;
  precision /= num_orders;
  recall /= num_orders;
  return 100 * (1 + kFactor) * precision * recall / (kFactor * precision + recall);
}

}  // namespace

ChrfStats& ChrfStats::operator+=(const ChrfStats& other) {
  for (int n = 0; n < kNumOrders; ++n) {
    orders[n].hypothesis += other.orders[n].hypothesis;
    orders[n].reference += other.orders[n].reference;
    orders[n].matches += other.orders[n].matches;
  }
  return *this;
}

ChrfStats chrf_stats(std::string_view hypothesis, const std::vector<std::string_view>& references,
                     const ChrfOptions& options) {
  require(!references.empty(), ErrorKind::internal, "chrF needs at least one reference");
  require(options.word_order >= 0 && options.word_order <= ChrfOptions::kMaxWordOrder, ErrorKind::internal,
          "chrF's word order must be 0, 1 or 2");
  auto prepare = [&](std::string_view line) { return options.lower_case ? lower_case(line) : std::string(line); };
  const std::string prepared = prepare(hypothesis);
  const std::vector<std::string_view> words = split_words(prepared);
  const Units characters = characters_of(words), cut_words = words_of(words);

  ChrfStats best;
  double best_score = -1;  // the reference with the best F score counts; on a tie, the first
  for (const std::string_view reference : references) {
    const std::string prepared_reference = prepare(reference);
    const std::vector<std::string_view> reference_words = split_words(prepared_reference);
    const Units reference_characters = characters_of(reference_words), reference_cut_words = words_of(reference_words);
    ChrfStats stats;
    for (int n = 0; n < kCharOrder; ++n) stats.orders[n] = compare(characters, reference_characters, n + 1);
    for (int n = 0; n < options.word_order; ++n) {
      stats.orders[kCharOrder + n] = compare(cut_words, reference_cut_words, n + 1);
    }
    const double score = f_score(stats);
    if (score > best_score) {
      best_score = score;
      best = stats;
    }
  }
  return best;
}

ChrfScore chrf_from_stats(const ChrfStats& stats, int num_references, const ChrfOptions& options) {
  return {.score = f_score(stats),
          .name = fmt::format("chrF{}{}", ChrfOptions::kBeta, std::string(options.word_order, '+')),
          .signature = fmt::format("{}|case:{}|eff:yes|nc:{}|nw:{}|space:no|version:weft-{}",
                                   num_references_field(num_references), options.lower_case ? "lc" : "mixed",
                                   kCharOrder, options.word_order, kVersion)};
}

ChrfScore chrf(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
               const ChrfOptions& options) {
  require_references(hypotheses.size(), references);
  ChrfStats sum;
  for (size_t i = 0; i < hypotheses.size(); ++i)
    sum += chrf_stats(hypotheses[i], references_of_segment(references, i), options);
  return chrf_from_stats(sum, static_cast<int>(references.size()), options);
}

std::string format(const ChrfScore& score, int num_digits) {
  return fmt::format("{}|{} = {:.{}f}", score.name, score.signature, score.score, num_digits);
}

}  // namespace weft
