// data/subword/normalization.h: how a SentencePiece model rewrites the characters of a text before it segments it.
//
// nfkc is Unicode's compatibility composition (UAX #15): it makes x2 of x², and ! of the full-width ！. nmt_nfkc also
// turns all white space into spaces and removes control characters. identity keeps all characters. With each rule,
// several spaces become one, and spaces at the ends disappear.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tensor/enum_names.h"

namespace weft {

enum class Normalization : uint8_t { identity, nfkc, nmt_nfkc };
constexpr EnumNames<Normalization, 3> enum_names(Normalization) {
  return {
      {{"identity", Normalization::identity}, {"nfkc", Normalization::nfkc}, {"nmt_nfkc", Normalization::nmt_nfkc}}};
}

class Normalizer {  // several threads may call it
 public:
  explicit Normalizer(Normalization rule);
  ~Normalizer();
  std::string operator()(std::string_view line) const;  // REQUIRES: valid UTF-8

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns a copy of a model file's bytes, with the same pieces and another rule. REQUIRES: SentencePiece reads the
// model.
std::string with_normalization(std::string_view model, Normalization rule);

}  // namespace weft
