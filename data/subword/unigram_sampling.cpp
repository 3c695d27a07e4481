// data/subword/unigram_sampling.cpp: draws a path through the lattice of a sentence's segmentations. The probability of
// a path is the product of its pieces' probabilities to the power of `exponent`, normalized (Kudo 2018, eq. 8). A
// forward pass sums over all paths to each position; a backward pass then draws pieces.
#include <algorithm>
#include <cmath>

#include "data/subword/subword_sampler.h"
#include "data/text/unicode.h"

namespace weft {
namespace {

constexpr int32_t kUnknownCharacter = -1;
constexpr double kUnknownPenalty = 10;  // subtracted from the lowest score of a piece, as in SentencePiece

struct Arc {
  size_t begin = 0;
  int32_t id = kUnknownCharacter;
  double score = 0;
};

double log_add(double a, double b) {
  const double high = std::max(a, b);
  return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

// Returns the arcs that end at each byte.
std::vector<std::vector<Arc>> arcs_of(const PieceTable& pieces, std::string_view text) {
  std::vector<std::vector<Arc>> ends(text.size() + 1);
  size_t next_whole = 0;  // start of the next user-defined piece, which no other piece overlaps
  for (size_t begin = 0; begin < text.size();) {
    if (const size_t whole = pieces.user_defined_prefix(text.substr(begin)); whole > 0) {
      ends[begin + whole].push_back({begin, pieces.find(text.substr(begin, whole)), 0});
      begin += whole;
      continue;
    }
    if (next_whole <= begin) {
      next_whole = begin + 1;
      while (next_whole < text.size() && pieces.user_defined_prefix(text.substr(next_whole)) == 0) ++next_whole;
    }
    const size_t first = static_cast<size_t>(code_point_at(text, begin).num_bytes);
    bool has_character = false;
    for (size_t end = begin; end < next_whole && end - begin < pieces.longest();) {
      end += static_cast<size_t>(code_point_at(text, end).num_bytes);
      const int32_t id = pieces.find(text.substr(begin, end - begin));
      if (id < 0 || pieces[id].type == Piece::unused) continue;
      ends[end].push_back({begin, id, pieces[id].score});
      has_character = has_character || end - begin == first;
    }
    if (!has_character)
      ends[begin + first].push_back({begin, kUnknownCharacter, pieces.lowest_score() - kUnknownPenalty});
    begin += first;
  }
  return ends;
}

}  // namespace

std::vector<int32_t> sample_unigram(const PieceTable& pieces, std::string_view text, double exponent,
                                    CountedRandom& random) {
  const std::vector<std::vector<Arc>> ends = arcs_of(pieces, text);
  std::vector<double> sums(text.size() + 1, -std::numeric_limits<double>::infinity());  // logarithms
  sums[0] = 0;
  for (size_t end = 1; end <= text.size(); ++end)
    for (const Arc& arc : ends[end]) sums[end] = log_add(sums[end], sums[arc.begin] + exponent * arc.score);

  std::vector<Arc> path;
  std::vector<size_t> path_ends;
  for (size_t end = text.size(); end > 0; end = path.back().begin) {
    double left = random.uniform();
    const Arc* chosen = &ends[end].back();  // used if rounding leaves a remainder
    for (const Arc& arc : ends[end]) {
      left -= std::exp(sums[arc.begin] + exponent * arc.score - sums[end]);
      if (left >= 0) continue;
      chosen = &arc;
      break;
    }
    path.push_back(*chosen), path_ends.push_back(end);
  }

  std::vector<int32_t> ids;
  for (size_t i = path.size(); i-- > 0;) {
    if (path[i].id != kUnknownCharacter) {
      ids.push_back(path[i].id);
    } else {
      pieces.append_unknown(text.substr(path[i].begin, path_ends[i] - path[i].begin), ids);
    }
  }
  return ids;
}

}  // namespace weft
