// trainer/import/json_fields.h: reads the values of an untrusted JSON object, or YAML mapping, with one-line errors.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace weft {

class JsonFields {  // an error is of kind checkpoint: "FILE: KEY is VALUE, not a whole number"
 public:
  explicit JsonFields(const std::string& path);  // reads the file; {} if it does not exist
  JsonFields(const std::string& path, nlohmann::json object) : path_(path), exists_(true), json_(std::move(object)) {}
  bool exists() const { return exists_; }
  const std::string& path() const { return path_; }
  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  bool is_set(const char* key) const;  // to something other than false, 0, or an empty text, list or map
  const nlohmann::json& operator[](const char* key) const { return json_[key]; }  // REQUIRES: has(key)
  auto items() const { return json_.items(); }

  // Return `otherwise` if the key is absent or null.
  int64_t whole(const char* key, int64_t otherwise) const;
  double number(const char* key, double otherwise) const;
  bool truth(const char* key, bool otherwise) const;
  std::string text(const char* key, const std::string& otherwise) const;
  int64_t whole(const char* key) const;  // the key must be present
  std::vector<int64_t> wholes(const char* key) const;
  std::vector<std::string> texts(const char* key) const;  // the key may be absent

  [[noreturn]] void refuse(const std::string& why) const;  // "FILE: WHY"

 private:
  [[noreturn]] void refuse_type(const char* key, const char* wanted) const;

  std::string path_;
  bool exists_;
  nlohmann::json json_;
};

}  // namespace weft
