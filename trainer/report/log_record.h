// trainer/report/log_record.h: reads single values of a record of log.jsonl (docs/formats/log-format.md).
//
// A log may come from another program, so a value that is missing or has the wrong type counts as absent.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace weft {

inline std::optional<double> number_at(const nlohmann::json& record, const std::string& key) {  // null: not finite
  const auto it = record.find(key);
  return it != record.end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
}

inline double number_or_0(const nlohmann::json& record, const std::string& key) {
  return number_at(record, key).value_or(0);
}

inline std::optional<int64_t> integer_at(const nlohmann::json& record, const std::string& key) {
  const auto it = record.find(key);
  return it != record.end() && it->is_number_integer() ? std::optional(it->get<int64_t>()) : std::nullopt;
}

inline std::string text_at(const nlohmann::json& record, const std::string& key) {  // "" if there is no text
  const auto it = record.find(key);
  return it != record.end() && it->is_string() ? it->get<std::string>() : "";
}

inline std::vector<std::string> texts_at(const nlohmann::json& record, const std::string& key) {
  std::vector<std::string> texts;
  if (const auto it = record.find(key); it != record.end() && it->is_array())
    for (const nlohmann::json& text : *it)
      if (text.is_string()) texts.push_back(text.get<std::string>());
  return texts;
}

// Return true for the record of a validation, and for the key of a validation set's score.
inline bool is_validation(const nlohmann::json& record) { return record.contains("valid_loss"); }
inline bool is_score_key(const std::string& key) { return key == "score" || key.ends_with(".score"); }

// Returns the names of a validation's sets for validation_key(). A set without a name has the name "".
inline std::vector<std::string> sets_of(const nlohmann::json& validation) {
  std::vector<std::string> names = texts_at(validation, "sets");
  if (names.empty()) names.emplace_back();
  return names;
}

// Returns the keys and numbers of the object at `key`, for example of the object `corpus_nll`.
inline std::vector<std::pair<std::string, double>> numbers_in(const nlohmann::json& record, const std::string& key) {
  std::vector<std::pair<std::string, double>> numbers;
  if (const auto it = record.find(key); it != record.end() && it->is_object())
    for (const auto& [name, value] : it->items())
      if (value.is_number()) numbers.emplace_back(name, value.get<double>());
  return numbers;
}

}  // namespace weft
