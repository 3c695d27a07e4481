// trainer/import/token_names.h: the tokens of a foreign vocabulary by id, as its files name them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class TokenNames {  // errors are of kind checkpoint and name the file
 public:
  explicit TokenNames(int64_t rows) : tokens_(static_cast<size_t>(rows)), tags_(tokens_.size()) {}

  void set(int64_t id, const std::string& token, const std::string& file);
  void set_all(const nlohmann::json& ids, const std::string& file);  // a map from tokens to ids
  // Sets a token that may be named already. Otherwise it is a tag, such as a language.
  void add(int64_t id, const std::string& token, const std::string& file);
  void set_tags(bool (*is_tag)(std::string_view));

  static bool is_marian_tag(std::string_view token) { return token.starts_with(">>") && token.ends_with("<<"); }

  int64_t end() const { return end_; }  // after the highest id
  bool has_tags() const { return has_tags_; }
  int64_t id_of(std::string_view token) const;  // -1 if there is none
  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::vector<bool>& tags() const { return tags_; }

 private:
  std::vector<std::string> tokens_;
  std::vector<bool> tags_;
  int64_t end_ = 0;
  bool has_tags_ = false;
};

}  // namespace weft
