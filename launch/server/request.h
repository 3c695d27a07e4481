// launch/server/request.h: reads the JSON requests of `weft serve` (docs/formats/http-requests.md).
//
// Each function throws an Error of kind usage that names the field if a request is not valid.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/inference/translator.h"

namespace weft {

struct ServerLimits {
  int64_t lines = 100;           // per request
  int64_t line_bytes = 20'000;   // per sentence
  int64_t body_bytes = 1 << 20;  // per request
  int64_t beam = 16;             // or the checkpoint's, if that is wider
  int64_t samples = 64;          // per sentence
  int64_t queue = 1000;          // sentences that wait for the model
  double seconds = 60;           // per request, from its arrival to its answer
};

struct ServedTranslation {
  std::vector<TaggedLine> lines;
  SearchConfig search;
  bool alignment = false;
};

struct ServedPairs {
  std::vector<TaggedLine> sources;
  std::vector<std::string> targets;
};

class RequestReader {
 public:
  RequestReader(std::string_view body, const ServerLimits& limits);
  std::string model() const;  // empty: the first one
  // Options that are not given have the values of `saved`, the model's [decode], but nbest is 1.
  ServedTranslation translation(const DecodeConfig& saved) const;
  ServedPairs pairs() const;

 private:
  std::vector<std::string> lines(const char* key) const;
  template <typename T>
  T value(const char* key, T usual, const char* kind) const;
  void refuse_given(std::initializer_list<const char*> keys, const char* why) const;
  void refuse_others(std::initializer_list<const char*> known) const;

  nlohmann::json fields_;
  const ServerLimits& limits_;
};

}  // namespace weft
