// trainer/metrics/bleu.cpp: reduces each segment to ten integers, and computes the score from their sums.
#include "trainer/metrics/bleu.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "data/text/scripts.h"
#include "data/text/unicode.h"
#include "tensor/error.h"
#include "trainer/metrics/mecab.h"
#include "trainer/metrics/references.h"
#include "trainer/metrics/sentencepiece_tokenizer.h"
#include "trainer/metrics/tokenizers.h"
#include "trainer/version.h"

namespace weft {
namespace {

constexpr int kMaxOrder = BleuStats::kMaxOrder;

const Mecab& japanese_mecab() {
  static const Mecab mecab(kJapaneseMecab, python_prefixes());  // if it throws, the next caller tries again
  return mecab;
}

const Mecab& korean_mecab() {
  static const Mecab mecab(kKoreanMecab, python_prefixes());
  return mecab;
}

std::string tokenize(std::string_view line, BleuTokenizer tokenizer) {
  assert(tokenizer != BleuTokenizer::automatic);
  switch (tokenizer) {
    case BleuTokenizer::v13a:
      return tokenize_13a(line);
    case BleuTokenizer::intl:
      return tokenize_intl(line);
    case BleuTokenizer::chars:
      return tokenize_chars(line);
    case BleuTokenizer::zh:
      return tokenize_zh(line);
    case BleuTokenizer::ja_mecab:
      return japanese_mecab().words(line);
    case BleuTokenizer::ko_mecab:
      return korean_mecab().words(line);
    case BleuTokenizer::flores101:
    case BleuTokenizer::flores200:
    case BleuTokenizer::spbleu_1k:
      return tokenize_sentencepiece(line, name_of_enum(tokenizer));
    case BleuTokenizer::none:
    case BleuTokenizer::automatic:
      break;
  }
  return join_words(split_words(line));
}

// Returns the tokens joined with single spaces, so that each n-gram is a substring that can serve as a map key.
std::string prepare(std::string_view line, const BleuOptions& options) {
  std::string lowered;
  if (options.lower_case) line = lowered = lower_case(line);
  return tokenize(trim_right(line), options.tokenizer);
}

struct NGrams {
  std::array<std::unordered_map<std::string_view, int64_t>, kMaxOrder> counts;  // keys point into the prepared text
  int64_t num_tokens = 0;
};

NGrams count_ngrams(std::string_view prepared) {
  const std::vector<std::string_view> tokens = split_words(prepared);
  NGrams ngrams;
  ngrams.num_tokens = std::ssize(tokens);
  for (size_t first = 0; first < tokens.size(); ++first) {
    for (size_t last = first; last < std::min(tokens.size(), first + kMaxOrder); ++last) {
      const char* begin = tokens[first].data();
      const std::string_view ngram(begin, tokens[last].data() + tokens[last].size() - begin);
      ++ngrams.counts[last - first][ngram];
    }
  }
  return ngrams;
}

bool is_closer(int64_t candidate, int64_t best, int64_t length) {
  const int64_t distance = std::abs(candidate - length), best_distance = std::abs(best - length);
  return distance < best_distance || (distance == best_distance && candidate < best);
}

double smoothing_value(const BleuOptions& options) {
  if (options.smoothing_value >= 0) return options.smoothing_value;
  return options.smoothing == BleuSmoothing::floor ? 0.1 : 1.0;
}

std::string smoothing_text(const BleuOptions& o) {
  const std::string name = name_of_enum(o.smoothing);
  const bool has_value = o.smoothing == BleuSmoothing::floor || o.smoothing == BleuSmoothing::add_k;
  return has_value ? fmt::format("{}[{:.2f}]", name, smoothing_value(o)) : name;
}

std::string tokenizer_field(BleuTokenizer tokenizer) {
  if (tokenizer == BleuTokenizer::ja_mecab) return japanese_mecab().signature();
  if (tokenizer == BleuTokenizer::ko_mecab) return korean_mecab().signature();
  return name_of_enum(tokenizer);
}

std::string signature(int num_references, const BleuOptions& options) {
  return fmt::format("{}|case:{}|eff:{}|tok:{}|smooth:{}|version:weft-{}", num_references_field(num_references),
                     options.lower_case ? "lc" : "mixed", options.effective_order ? "yes" : "no",
                     tokenizer_field(options.tokenizer), smoothing_text(options), kVersion);
}

// Sets result.precisions. Returns the number of n-gram orders in the geometric mean.
int smoothed_precisions(const BleuOptions& options, BleuScore& result) {
  int num_orders = kMaxOrder;
  double exp_divisor = 1;
  for (int n = 0; n < kMaxOrder; ++n) {
    const double added = options.smoothing == BleuSmoothing::add_k && n > 0 ? smoothing_value(options) : 0;
    const double correct = result.stats.correct[n] + added, total = result.stats.total[n] + added;
    if (total == 0) break;
    if (options.effective_order) num_orders = n + 1;
    if (correct > 0) {
      result.precisions[n] = 100 * correct / total;
    } else if (options.smoothing == BleuSmoothing::exp) {
      exp_divisor *= 2;
      result.precisions[n] = 100 / (exp_divisor * total);
    } else if (options.smoothing == BleuSmoothing::floor) {
      result.precisions[n] = 100 * smoothing_value(options) / total;
    }
  }
  return num_orders;
}

}  // namespace

BleuStats& BleuStats::operator+=(const BleuStats& other) {
  hypothesis_length += other.hypothesis_length;
  reference_length += other.reference_length;
  for (int n = 0; n < kMaxOrder; ++n) {
    correct[n] += other.correct[n];
    total[n] += other.total[n];
  }
  return *this;
}

BleuTokenizer chosen_tokenizer(BleuTokenizer option, const std::vector<std::string>& references) {
  if (option != BleuTokenizer::automatic) return option;
  std::string text;
  for (const std::string& reference : references) text += reference;
  const auto share = [&](const char* scripts) { return ScriptSet(scripts, "").share(text); };
  if (share("Han+Bopomofo+Hiragana+Katakana+Thai+Lao+Khmer+Myanmar+Tibetan+Yi") <= 0.5) return BleuTokenizer::v13a;
  const bool is_chinese = share("Han+Bopomofo") > 0.5 && share("Hiragana+Katakana") < 0.05;
  return is_chinese ? BleuTokenizer::zh : BleuTokenizer::chars;
}

void require_tokenizer(BleuTokenizer option) {
  if (option != BleuTokenizer::automatic) tokenize("", option);
}

BleuStats bleu_stats(std::string_view hypothesis, const std::vector<std::string_view>& references,
                     const BleuOptions& options) {
  require(!references.empty(), ErrorKind::internal, "BLEU needs at least one reference");
  const std::string prepared = prepare(hypothesis, options);
  const NGrams ngrams = count_ngrams(prepared);
  BleuStats stats;
  stats.hypothesis_length = ngrams.num_tokens;
  std::array<std::unordered_map<std::string_view, int64_t>, kMaxOrder> best_matches;  // maximum over the references
  bool first = true;
  for (const std::string_view reference : references) {
    const std::string prepared_reference = prepare(reference, options);
    const NGrams reference_ngrams = count_ngrams(prepared_reference);
    if (first || is_closer(reference_ngrams.num_tokens, stats.reference_length, ngrams.num_tokens)) {
      stats.reference_length = reference_ngrams.num_tokens;
    }
    first = false;
    for (int n = 0; n < kMaxOrder; ++n) {
      for (const auto& [ngram, count] : ngrams.counts[n]) {
        const auto found = reference_ngrams.counts[n].find(ngram);
        if (found == reference_ngrams.counts[n].end()) continue;
        int64_t& best = best_matches[n][ngram];
        best = std::max(best, std::min(count, found->second));
      }
    }
  }
  for (int n = 0; n < kMaxOrder; ++n) {
    stats.total[n] = std::max<int64_t>(0, ngrams.num_tokens - n);
    for (const auto& [ngram, matches] : best_matches[n]) stats.correct[n] += matches;
  }
  return stats;
}

BleuScore bleu_from_stats(const BleuStats& stats, int num_references, const BleuOptions& options) {
  BleuScore result;
  result.stats = stats;
  result.signature = signature(num_references, options);
  const double hypothesis = stats.hypothesis_length, reference = stats.reference_length;
  result.ratio = reference > 0 ? hypothesis / reference : 0;
  result.brevity_penalty = hypothesis >= reference ? 1 : hypothesis > 0 ? std::exp(1 - reference / hypothesis) : 0;
  // If no n-gram of any order matches, the score is 0 with every smoothing method.
  if (std::all_of(stats.correct.begin(), stats.correct.end(), [](int64_t n) { return n == 0; })) return result;

  const int num_orders = smoothed_precisions(options, result);
  double sum_of_logs = 0;
  for (int n = 0; n < num_orders; ++n) {
    if (result.precisions[n] == 0) return result;
    sum_of_logs += std::log(result.precisions[n]);
  }
  result.score = result.brevity_penalty * std::exp(sum_of_logs / num_orders);
  return result;
}

BleuScore bleu(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
               const BleuOptions& options) {
  require_references(hypotheses.size(), references);
  BleuStats sum;
  for (size_t i = 0; i < hypotheses.size(); ++i)
    sum += bleu_stats(hypotheses[i], references_of_segment(references, i), options);
  return bleu_from_stats(sum, static_cast<int>(references.size()), options);
}

std::string format(const BleuScore& s, int num_digits) {
  return fmt::format(
      "BLEU|{} = {:.{}f} {:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
      s.signature, s.score, num_digits, s.precisions[0], s.precisions[1], s.precisions[2], s.precisions[3],
      s.brevity_penalty, s.ratio, s.stats.hypothesis_length, s.stats.reference_length);
}

}  // namespace weft
