// data/noise/slips.cpp: lists the places where a slip is possible, and draws one.
#include "data/noise/slips.h"

#include <vector>

#include "data/text/unicode.h"
#include "tensor/random.h"

namespace weft {
namespace {

struct Span {
  size_t begin = 0, end = 0;
};

std::string with_replaced(std::string_view text, const Span& span, std::string_view by) {
  return std::string(text.substr(0, span.begin)).append(by).append(text.substr(span.end));
}

std::vector<Span> punctuation_of(std::string_view text) {
  std::vector<Span> marks;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const size_t end = i + static_cast<size_t>(c.num_bytes);
    if (c.valid && is_punctuation(c.value)) marks.push_back({i, end});
    i = end;
  }
  return marks;
}

std::vector<Span> gaps_between(const std::vector<std::string_view>& words, std::string_view text) {
  std::vector<Span> gaps;
  for (size_t w = 1; w < words.size(); ++w)
    gaps.push_back({static_cast<size_t>(words[w - 1].data() + words[w - 1].size() - text.data()),
                    static_cast<size_t>(words[w].data() - text.data())});
  return gaps;
}

std::vector<Span> places_inside(const std::vector<std::string_view>& words, std::string_view text) {
  std::vector<Span> places;
  for (const std::string_view word : words) {
    const auto begin = static_cast<size_t>(word.data() - text.data());
    for (size_t i = static_cast<size_t>(code_point_at(word, 0).num_bytes); i < word.size();
         i += static_cast<size_t>(code_point_at(word, i).num_bytes))
      places.push_back({begin + i, begin + i});
  }
  return places;
}

}  // namespace

std::string with_punctuation_slip(std::string_view text, const NoisePlace& place) {
  const std::vector<Span> marks = punctuation_of(text);
  if (marks.empty()) return std::string(text);
  const PhiloxBits bits = philox(place.seed, place.pair, place.visit, purpose_of("punctuation"));
  const Span mark = marks[bits.v[0] % marks.size()];
  if (bits.v[1] % 2 == 0) return with_replaced(text, mark, "");
  return with_replaced(text, {mark.end, mark.end}, text.substr(mark.begin, mark.end - mark.begin));
}

std::string with_word_slip(std::string_view text, const NoisePlace& place) {
  const std::vector<std::string_view> words = split_words(text);
  const std::vector<Span> gaps = gaps_between(words, text), inside = places_inside(words, text);
  if (gaps.empty() && inside.empty()) return std::string(text);
  const PhiloxBits bits = philox(place.seed, place.pair, place.visit, purpose_of("words"));
  const bool joins = inside.empty() || (!gaps.empty() && bits.v[0] % 2 == 0);
  const std::vector<Span>& places = joins ? gaps : inside;
  return with_replaced(text, places[bits.v[1] % places.size()], joins ? "" : " ");
}

}  // namespace weft
