// trainer/metrics/ter.cpp: counts edits and reference words of segments, and computes the rate.
#include "trainer/metrics/ter.h"

#include <algorithm>
#include <unordered_map>

#include "data/text/unicode.h"
#include "tensor/error.h"
#include "trainer/metrics/references.h"
#include "trainer/metrics/ter_shifts.h"
#include "trainer/metrics/tokenizers.h"
#include "trainer/version.h"

namespace weft {
namespace {

// Maps equal words to equal numbers, which are faster to compare.
class WordNumbers {
 public:
  std::vector<int> operator()(const std::string& tokens) {
    std::vector<int> result;
    for (const std::string_view word : split_words(tokens)) {
      result.push_back(numbers_.try_emplace(std::string(word), static_cast<int>(numbers_.size())).first->second);
    }
    return result;
  }

 private:
  std::unordered_map<std::string, int> numbers_;
};

std::string signature(int num_references, const TerOptions& options) {
  auto yes_no = [](bool value) { return value ? "yes" : "no"; };
  return fmt::format("{}|case:{}|tok:tercom|norm:{}|punct:{}|asian:{}|version:weft-{}",
                     num_references_field(num_references), options.case_sensitive ? "mixed" : "lc",
                     yes_no(options.normalized), yes_no(!options.no_punct), yes_no(options.asian_support), kVersion);
}

}  // namespace

TerStats& TerStats::operator+=(const TerStats& other) {
  edits += other.edits;
  reference_length += other.reference_length;
  return *this;
}

TerStats ter_stats(std::string_view hypothesis, const std::vector<std::string_view>& references,
                   const TerOptions& options) {
  require(!references.empty(), ErrorKind::internal, "TER needs at least one reference");
  auto tokenize = [&](std::string_view line) { return tokenize_tercom(trim_right(line), options); };
  WordNumbers numbers;
  const std::vector<int> hypothesis_words = numbers(tokenize(hypothesis));
  std::vector<int64_t> edits;
  double sum_of_lengths = 0;
  for (const std::string_view reference : references) {
    // sacreBLEU tokenizes only references twice. If `normalized` is set, the second pass splits the 's off "it's...".
    const std::vector<int> reference_words = numbers(tokenize(tokenize(reference)));
    edits.push_back(translation_edits(hypothesis_words, reference_words));
    sum_of_lengths += std::ssize(reference_words);
  }
  return {.edits = *std::min_element(edits.begin(), edits.end()),
          .reference_length = sum_of_lengths / references.size()};
}

TerScore ter_from_stats(const TerStats& stats, int num_references, const TerOptions& options) {
  double rate = stats.edits > 0 ? 1 : 0;  // if the references have no words
  if (stats.reference_length > 0) rate = stats.edits / stats.reference_length;
  return {.score = 100 * rate, .stats = stats, .signature = signature(num_references, options)};
}

TerScore ter(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
             const TerOptions& options) {
  require_references(hypotheses.size(), references);
  TerStats sum;
  for (size_t i = 0; i < hypotheses.size(); ++i)
    sum += ter_stats(hypotheses[i], references_of_segment(references, i), options);
  return ter_from_stats(sum, static_cast<int>(references.size()), options);
}

std::string format(const TerScore& score, int num_digits) {
  return fmt::format("TER|{} = {:.{}f}", score.signature, score.score, num_digits);
}

}  // namespace weft
