// model/decoding/token_rules.h: which tokens may follow a hypothesis.
//
// A hypothesis never contains the unknown token (unless asked for), bos or padding, is text before it ends, and spells
// valid UTF-8: byte pieces (Kudo & Richardson 2018, byte fallback) follow each other as in the Unicode Standard, table
// 3-7, and nothing else interrupts a character. Every token has a class, and allowed_next() returns a set of classes,
// which ops::TopK applies.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

enum class TokenClass : int32_t {
  text,       // any piece that may stand between characters, and the bytes 00 to 7F
  end,        // eos
  forbidden,  // never predicted
  lead_2,     // bytes that start a character of two to four bytes
  lead_E0,
  lead_3,
  lead_ED,
  lead_F0,
  lead_4,
  lead_F4,
  next_80,  // bytes that continue a character: 80 to 8F, 90 to 9F, A0 to BF
  next_90,
  next_A0,
};

TokenClass class_of_byte(uint8_t byte);  // `forbidden` for a byte that UTF-8 does not contain

// The rules of one vocabulary.
struct TokenRules {
  std::vector<int32_t> classes;  // a TokenClass per id

  // Returns the classes that may follow `tokens`, as bits 1 << class. eos may follow from `min_tokens` tokens on. A
  // character starts only if it can be completed within `max_tokens` tokens.
  uint32_t allowed_next(const std::vector<int32_t>& tokens, int64_t min_tokens, int64_t max_tokens) const;
};

constexpr bool is_inside_character(uint32_t allowed) {  // `allowed` is a result of allowed_next()
  return (allowed & 1u << static_cast<int>(TokenClass::text)) == 0;
}

// Returns the tokens that would complete a sequence of `n` tokens which `tokens` already contains.
std::vector<int32_t> repeating_tokens(const std::vector<int32_t>& tokens, int64_t n);

}  // namespace weft
