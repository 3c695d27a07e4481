// data/noise/inline_marks.cpp: lists the places that both sides share, and draws one.
#include "data/noise/inline_marks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "data/noise/rates.h"
#include "data/text/unicode.h"
#include "tensor/error.h"
#include "tensor/random.h"

namespace weft {
namespace {

struct Range {
  size_t begin = 0, end = 0;
};
struct CommonPlace {  // a text that both sides share, or both complete sides
  Range source, target;
};

bool is_name(std::string_view word) {
  if (lower_case(word) != word) return true;
  for (size_t i = 0; i < word.size();) {
    const CodePoint c = code_point_at(word, i);
    if (is_number(c.value)) return true;
    i += static_cast<size_t>(c.num_bytes);
  }
  return false;
}

// Returns the word without punctuation and symbols at both ends, so that "(Linux)," becomes "Linux".
std::string_view bare(std::string_view word) {
  size_t begin = word.size(), end = word.size();
  for (size_t i = 0; i < word.size();) {
    const CodePoint c = code_point_at(word, i);
    const size_t next = i + static_cast<size_t>(c.num_bytes);
    if (!is_punctuation(c.value) && !is_symbol(c.value)) {
      begin = std::min(begin, i);
      end = next;
    }
    i = next;
  }
  return begin < word.size() ? word.substr(begin, end - begin) : std::string_view();
}

// Returns the range of each name in a text. The range is empty if the name occurs more than once.
std::map<std::string_view, Range> names_of(std::string_view text) {
  std::map<std::string_view, Range> names;
  for (const std::string_view word : split_words(text)) {
    const std::string_view name = bare(word);
    if (name.empty() || !is_name(name)) continue;
    const auto begin = static_cast<size_t>(name.data() - text.data());
    const auto [found, is_new] = names.try_emplace(name, Range{begin, begin + name.size()});
    if (!is_new) found->second = {};
  }
  return names;
}

std::vector<CommonPlace> common_names(std::string_view source, std::string_view target) {
  std::vector<CommonPlace> places;
  const std::map<std::string_view, Range> targets = names_of(target);
  for (const auto& [name, range] : names_of(source)) {
    const auto found = targets.find(name);
    if (found == targets.end() || range.end == 0 || found->second.end == 0) continue;
    places.push_back({range, found->second});
  }
  return places;
}

// Draws one of Unicode 14's emoji of four bytes (emoji-data.txt, Emoji_Presentation), except isolated code points,
// flags and modifiers. Because there are many, a model learns to copy their bytes instead of memorizing them.
std::string emoji_of(uint32_t bits) {
  constexpr struct {
    char32_t first, last;
  } kRanges[] = {{0x1F300, 0x1F320}, {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C}, {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA},
                 {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F8, 0x1F3FA}, {0x1F400, 0x1F43E}, {0x1F442, 0x1F4FC},
                 {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E}, {0x1F550, 0x1F567}, {0x1F5FB, 0x1F64F}, {0x1F680, 0x1F6C5},
                 {0x1F6D0, 0x1F6D2}, {0x1F6D5, 0x1F6D7}, {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7EB}, {0x1F90C, 0x1F93A},
                 {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF}, {0x1FA78, 0x1FA7C}, {0x1FA80, 0x1FA86}, {0x1FA90, 0x1FAAC},
                 {0x1FAB0, 0x1FABA}, {0x1FAC0, 0x1FAC5}, {0x1FAD0, 0x1FAD9}, {0x1FAE0, 0x1FAE7}, {0x1FAF0, 0x1FAF6}};
  uint32_t count = 0;
  for (const auto& range : kRanges) count += static_cast<uint32_t>(range.last - range.first + 1);
  uint32_t index = bits % count;
  std::string text;
  for (const auto& range : kRanges) {
    const auto size = static_cast<uint32_t>(range.last - range.first + 1);
    if (index < size) {
      append_utf8(text, range.first + index);
      break;
    }
    index -= size;
  }
  return text;
}

std::string with_around(std::string_view text, const Range& range, std::string_view before, std::string_view after) {
  return std::string(text.substr(0, range.begin))
      .append(before)
      .append(text.substr(range.begin, range.end - range.begin))
      .append(after)
      .append(text.substr(range.end));
}

// Puts `mark` before both sides, after both sides, or after a word that both sides share.
void insert_between_words(const std::string& mark, uint32_t bits, std::string& source, std::string& target) {
  const std::vector<CommonPlace> names = common_names(source, target);
  const size_t place = bits % (names.size() + 2);
  const CommonPlace here = place < names.size()    ? names[place]
                           : place == names.size() ? CommonPlace{{0, 0}, {0, 0}}
                                                   : CommonPlace{{0, source.size()}, {0, target.size()}};
  const std::string before = place == names.size() ? mark + " " : "", after = before.empty() ? " " + mark : "";
  source = with_around(source, here.source, before, after);
  target = with_around(target, here.target, before, after);
}

// Encloses both sides, or a word that both sides share, in `open` and `close`.
void enclose(const std::string& open, const std::string& close, uint32_t bits, std::string& source,
             std::string& target) {
  const std::vector<CommonPlace> names = common_names(source, target);
  const size_t place = bits % (names.size() + 1);
  const CommonPlace here = place < names.size() ? names[place] : CommonPlace{{0, source.size()}, {0, target.size()}};
  source = with_around(source, here.source, open, close);
  target = with_around(target, here.target, open, close);
}

// Returns a name of one to four letters.
std::string any_name(uint32_t bits) {
  std::string name;
  for (uint32_t left = 1 + bits % 4, rest = bits / 4; left > 0; --left, rest /= 26)
    name += static_cast<char>('a' + rest % 26);
  return name;
}

// Half of the marks get a name that is drawn letter by letter, and half get an id of one to three digits, because a
// model would memorize a few common marks instead of copying them.
void insert_markup(const PhiloxBits& bits, std::string& source, std::string& target) {
  constexpr std::string_view kElements[] = {"b", "i", "u", "em", "strong", "code", "span", "a", "g"};
  constexpr std::string_view kEmpty[] = {"br", "x", "ph"};
  constexpr uint32_t kSizes[] = {10, 100, 1000};
  constexpr uint32_t kKinds = std::size(kElements) + std::size(kEmpty);
  const uint32_t kind = bits.v[1] % kKinds, size = kSizes[bits.v[3] / 2 % 3];
  const bool encloses = kind < std::size(kElements), is_known = bits.v[1] / kKinds % 2 == 0,
             has_id = bits.v[3] % 2 == 1;
  const std::string name = is_known ? std::string(encloses ? kElements[kind] : kEmpty[kind - std::size(kElements)])
                                    : any_name(bits.v[1] / kKinds / 2);
  const std::string attribute = has_id ? fmt::format(" id=\"{}\"", bits.v[3] / 6 % size) : "";
  if (encloses)
    enclose(fmt::format("<{}{}>", name, attribute), fmt::format("</{}>", name), bits.v[2], source, target);
  else
    insert_between_words(fmt::format("<{}{}/>", name, attribute), bits.v[2], source, target);
}

}  // namespace

MarkRates parse_mark_rates(const std::string& option, const std::string& text) {
  const std::vector<double> rates = parse_rates(option, text, {"emoji", "markup"}, "mark");
  return {.emoji = rates[0], .markup = rates[1]};
}

void insert_marks(const MarkRates& rates, const NoisePlace& place, std::string& source, std::string& target) {
  const auto bits_of = [&](const char* kind) { return philox(place.seed, place.pair, place.visit, purpose_of(kind)); };
  if (rates.markup > 0)
    if (const PhiloxBits bits = bits_of("markup"); drawn(rates.markup, bits.v[0])) insert_markup(bits, source, target);
  if (rates.emoji > 0)
    if (const PhiloxBits bits = bits_of("emoji"); drawn(rates.emoji, bits.v[0]))
      insert_between_words(emoji_of(bits.v[1]), bits.v[2], source, target);
}

}  // namespace weft
