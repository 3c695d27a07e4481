// data/order/min_score.cpp: parses min scores, counts the pairs that reach them, and marks the other pairs.
#include "data/order/min_score.h"

#include <algorithm>

#include "data/text/number.h"
#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kPiece = 65536;  // scores read at once

[[noreturn]] void refuse(const std::string& option, const std::string& text, const std::string& folder) {
  fail(ErrorKind::usage,
       fmt::format("{} = '{}' is not a min score: give a number, or FOLDER:NUMBER,..., such as {}:0.8", option,
                   printable(text), folder));
}

}  // namespace

void set_min_scores(const std::string& option, const std::string& text, std::vector<MixCorpus>& mix) {
  if (text.empty()) return;
  if (const std::optional<float> score = parse_number<float>(text)) {
    for (MixCorpus& corpus : mix) corpus.min_score = score;
    return;
  }
  for (const std::string& part : split_at_commas(text)) {
    const size_t colon = find_colon_after_folder(part);
    const std::string folder = part.substr(0, colon);
    const std::optional<float> score =
        colon == std::string::npos ? std::nullopt : parse_number<float>(std::string_view(part).substr(colon + 1));
    if (!score || folder.empty()) refuse(option, text, mix.front().folder);
    const auto found = std::ranges::find(mix, folder, &MixCorpus::folder);
    if (found == mix.end())
      fail(ErrorKind::usage,
           fmt::format("{} names {}, which is not in the mix {}", option, printable(folder), printable(mix_text(mix))));
    if (found->min_score)
      fail(ErrorKind::usage, fmt::format("{} names {} twice: give it one score", option, printable(folder)));
    found->min_score = score;
  }
}

std::string min_scores_text(const std::vector<MixCorpus>& mix) {
  std::string text;
  for (const MixCorpus& corpus : mix)
    if (corpus.min_score) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", corpus.folder, *corpus.min_score);
  return text;
}

int64_t count_usable(Corpus& corpus, float min_score) {
  std::vector<float> scores;
  int64_t usable = 0;
  for (int64_t first = 0; first < corpus.num_pairs(); first += kPiece) {
    corpus.read_scores(first, std::min(kPiece, corpus.num_pairs() - first), scores);
    usable += std::ranges::count_if(scores, [&](float score) { return score >= min_score; });
  }
  return usable;
}

LengthSource lengths_of(Corpus& corpus, std::optional<float> min_score,
                        const std::function<int64_t(int64_t epoch)>& variant_of) {
  if (!min_score)
    return [&corpus, variant_of](int64_t epoch, int64_t first, int64_t count, std::vector<PairLength>& out) {
      corpus.read_lengths(first, count, out, variant_of(epoch));
    };
  return [&corpus, variant_of, least = *min_score, scores = std::vector<float>()](
             int64_t epoch, int64_t first, int64_t count, std::vector<PairLength>& out) mutable {
    corpus.read_lengths(first, count, out, variant_of(epoch));
    corpus.read_scores(first, count, scores);
    for (size_t i = 0; i < out.size(); ++i)
      if (scores[i] < least) out[i] = kBelowScore;
  };
}

}  // namespace weft
