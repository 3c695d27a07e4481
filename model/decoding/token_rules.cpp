// model/decoding/token_rules.cpp: reads the state of a hypothesis from its last tokens.
#include "model/decoding/token_rules.h"

#include <algorithm>

namespace weft {
namespace {

constexpr uint32_t bit(TokenClass c) { return 1u << static_cast<int>(c); }
constexpr uint32_t kNextByte = bit(TokenClass::next_80) | bit(TokenClass::next_90) | bit(TokenClass::next_A0);

// Returns the length in bytes of a character that starts with this class, or 1.
int64_t length_of(TokenClass c) {
  using enum TokenClass;
  if (c == lead_2) return 2;
  if (c == lead_E0 || c == lead_3 || c == lead_ED) return 3;
  return c == lead_F0 || c == lead_4 || c == lead_F4 ? 4 : 1;
}

uint32_t second_byte(TokenClass lead) {
  using enum TokenClass;
  if (lead == lead_E0) return bit(next_A0);                 // no overlong forms
  if (lead == lead_ED) return bit(next_80) | bit(next_90);  // no surrogates
  if (lead == lead_F0) return bit(next_90) | bit(next_A0);  // no overlong forms
  return lead == lead_F4 ? bit(next_80) : kNextByte;        // nothing above U+10FFFF
}

uint32_t leads_within(int64_t tokens) {
  using enum TokenClass;
  uint32_t leads = 0;
  for (const TokenClass lead : {lead_2, lead_E0, lead_3, lead_ED, lead_F0, lead_4, lead_F4})
    if (length_of(lead) <= tokens) leads |= bit(lead);
  return leads;
}

}  // namespace

TokenClass class_of_byte(uint8_t b) {
  using enum TokenClass;
  if (b < 0x80) return text;
  if (b < 0xC0) return b < 0x90 ? next_80 : b < 0xA0 ? next_90 : next_A0;
  if (b < 0xC2 || b > 0xF4) return forbidden;
  if (b < 0xE0) return lead_2;
  if (b < 0xF0) return b == 0xE0 ? lead_E0 : b == 0xED ? lead_ED : lead_3;
  return b == 0xF0 ? lead_F0 : b == 0xF4 ? lead_F4 : lead_4;
}

uint32_t TokenRules::allowed_next(const std::vector<int32_t>& tokens, int64_t min_tokens, int64_t max_tokens) const {
  const auto class_at = [&](int64_t i) { return static_cast<TokenClass>(classes[static_cast<size_t>(tokens[i])]); };
  const int64_t count = std::ssize(tokens);
  for (int64_t back = 1; back <= std::min<int64_t>(count, 3); ++back) {
    const TokenClass c = class_at(count - back);
    if (length_of(c) > back) return back == 1 ? second_byte(c) : kNextByte;  // inside a character
    if ((bit(c) & kNextByte) == 0) break;
  }
  return bit(TokenClass::text) | (count >= min_tokens ? bit(TokenClass::end) : 0u) | leads_within(max_tokens - count);
}

std::vector<int32_t> repeating_tokens(const std::vector<int32_t>& tokens, int64_t n) {
  std::vector<int32_t> repeating;
  const auto last = tokens.end() - std::min(n - 1, std::ssize(tokens));  // the beginning of the sequence
  for (auto begin = tokens.begin(); tokens.end() - begin >= n; ++begin)
    if (std::equal(last, tokens.end(), begin)) repeating.push_back(begin[n - 1]);
  return repeating;
}

}  // namespace weft
