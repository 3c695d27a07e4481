// data/text/invisible.cpp: one pass that decides from the neighboring visible characters.
#include "data/text/invisible.h"

#include <algorithm>

#include "data/text/range_table.h"
#include "data/text/unicode.h"
#include "data/text/unicode_invisible.h"

namespace weft {
namespace {

using namespace unicode_tables;

constexpr char32_t kNonJoiner = 0x200C, kJoiner = 0x200D, kEmojiStyle = 0xFE0F, kKeycap = 0x20E3, kFlag = 0x1F3F4,
                   kFirstTag = 0xE0020, kCancelTag = 0xE007F;

struct Neighbors {
  char32_t before = 0, after = 0;  // visible characters, or 0 at the ends of the text
};

bool is_mongolian_selector(char32_t c) { return c >= 0x180B && c <= 0x180F; }

bool is_needed(char32_t c, const Neighbors& n) {
  if (c == kJoiner && contains(kEmoji, n.before) && contains(kEmoji, n.after)) return true;
  if (c == kJoiner || c == kNonJoiner) return contains(kJoining, n.before);
  if (is_mongolian_selector(c)) return n.before >= 0x1800 && n.before <= 0x18AF;
  if (c == kEmojiStyle) return contains(kEmoji, n.before) || n.after == kKeycap;
  return false;
}

// Returns the length of the tag sequence at the start of the text, such as the one that makes a flag Scotland's, or 0.
size_t tag_sequence(std::string_view text) {
  for (size_t i = 0; i < text.size(); i += 4) {
    const char32_t c = code_point_at(text, i).value;
    if (c < kFirstTag || c > kCancelTag) return 0;
    if (c == kCancelTag) return i == 0 ? 0 : i + 4;
  }
  return 0;
}

char32_t next_visible(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (!contains(kInvisible, c.value)) return c.value;
    i += static_cast<size_t>(c.num_bytes);
  }
  return 0;
}

}  // namespace

bool has_invisible(std::string_view text) {
  // The UTF-8 forms of all invisible characters start with one of these bytes.
  constexpr std::string_view kLeads = "\xC2\xCD\xD8\xE1\xE2\xE3\xEF\xF0\xF3";
  for (size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) < 0x80 || kLeads.find(text[i]) == std::string_view::npos) continue;
    if (contains(kInvisible, code_point_at(text, i).value)) return true;
  }
  return false;
}

std::string without_invisible(std::string_view text) {
  std::string out;
  Neighbors neighbors;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    size_t length = static_cast<size_t>(c.num_bytes);
    bool keep = true;
    if (contains(kInvisible, c.value)) {
      const size_t flag = neighbors.before == kFlag ? tag_sequence(text.substr(i)) : 0;
      neighbors.after = next_visible(text.substr(i));
      keep = flag > 0 || (is_needed(c.value, neighbors) && !out.ends_with(text.substr(i, length)));
      length = std::max(length, flag);
    } else {
      neighbors.before = c.value;
    }
    if (keep) out.append(text, i, length);
    i += length;
  }
  return out;
}

}  // namespace weft
