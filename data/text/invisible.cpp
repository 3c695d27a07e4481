// data/text/invisible.cpp: one pass that decides from the neighboring visible characters.
#include "data/text/invisible.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "data/text/range_table.h"
#include "data/text/unicode.h"
#include "data/text/unicode_invisible.h"

namespace weft {
namespace {

using namespace unicode_tables;

constexpr char32_t kNonJoiner = 0x200C, kJoiner = 0x200D, kEmojiStyle = 0xFE0F, kKeycap = 0x20E3, kFlag = 0x1F3F4,
                   kFirstTag = 0xE0020, kCancelTag = 0xE007F;

bool is_mongolian_selector(char32_t c) { return c >= 0x180B && c <= 0x180F; }

// `before` and `after` are the nearest visible characters, or 0 at the ends of the text.
bool is_needed(char32_t c, char32_t before, char32_t after) {
  if (c == kJoiner && contains(kEmoji, before) && contains(kEmoji, after)) return true;
  if (c == kJoiner || c == kNonJoiner) return contains(kJoining, before);
  if (is_mongolian_selector(c)) return before >= 0x1800 && before <= 0x18AF;
  return c == kEmojiStyle && (contains(kEmoji, before) || after == kKeycap);
}

// Returns the length of the tag sequence at the start of the text, such as the one that makes a flag Scotland's, or 0.
size_t tag_sequence(std::string_view text) {
  constexpr size_t kMaxBytes = 4 * 32;  // Unicode's sequences have at most 6 tags
  for (size_t i = 0; i < std::min(text.size(), kMaxBytes); i += 4) {
    const char32_t c = code_point_at(text, i).value;
    if (c < kFirstTag || c > kCancelTag) return 0;
    if (c == kCancelTag) return i == 0 ? 0 : i + 4;
  }
  return 0;
}

// Returns the end of the invisible characters from `begin` on.
size_t end_of_invisible(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    const CodePoint c = code_point_at(text, begin);
    if (!contains(kInvisible, c.value)) break;
    begin += static_cast<size_t>(c.num_bytes);
  }
  return begin;
}

}  // namespace

bool has_invisible(std::string_view text) {
  // The UTF-8 forms of all invisible characters start with one of these bytes.
  constexpr std::string_view kLeads = "\xC2\xCD\xD8\xE1\xE2\xE3\xEF\xF0\xF3";
  for (size_t i = 0; i < text.size(); ++i) {
    if (uint64_t eight = 0; i + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof eight);
      if ((eight & 0x8080808080808080) == 0) {  // all ASCII
        i += sizeof eight - 1;
        continue;
      }
    }
    if (static_cast<unsigned char>(text[i]) < 0x80 || kLeads.find(text[i]) == std::string_view::npos) continue;
    if (contains(kInvisible, code_point_at(text, i).value)) return true;
  }
  return false;
}

std::string without_invisible(std::string_view text) {
  std::string out;
  char32_t before = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t run_end = end_of_invisible(text, i);
    const char32_t after = run_end < text.size() ? code_point_at(text, run_end).value : 0;
    while (i < run_end) {
      const size_t flag = before == kFlag ? tag_sequence(text.substr(i)) : 0;
      const CodePoint c = code_point_at(text, i);
      const size_t length = std::max(flag, static_cast<size_t>(c.num_bytes));
      const std::string_view character = text.substr(i, length);
      if (flag > 0 || (is_needed(c.value, before, after) && !out.ends_with(character))) out += character;
      i += length;
    }
    if (i == text.size()) break;
    before = after;
    out += text.substr(i, static_cast<size_t>(code_point_at(text, i).num_bytes));
    i += static_cast<size_t>(code_point_at(text, i).num_bytes);
  }
  return out;
}

}  // namespace weft
