// trainer/import/token_names.cpp: checks the ids of tokens.
#include "trainer/import/token_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {

void TokenNames::set(int64_t id, const std::string& token, const std::string& file) {
  if (id < 0 || id >= std::ssize(tokens_))
    fail(ErrorKind::checkpoint, fmt::format("{}: '{}' has the id {}, but the model's table has {} rows", file,
                                            printable(token), id, tokens_.size()));
  std::string& place = tokens_[static_cast<size_t>(id)];
  if (!place.empty() && place != token)
    fail(ErrorKind::checkpoint,
         fmt::format("{}: '{}' and '{}' have the same id, {}", file, printable(place), printable(token), id));
  place = token;
  end_ = std::max(end_, id + 1);
}

void TokenNames::set_all(const nlohmann::json& ids, const std::string& file) {
  if (!ids.is_object()) fail(ErrorKind::checkpoint, fmt::format("{}: the file is not a map from tokens to ids", file));
  for (const auto& [token, id] : ids.items()) {
    require_whole_number(id, fmt::format("the id of '{}'", printable(token)), file, ErrorKind::checkpoint);
    set(id.get<int64_t>(), token, file);
  }
}

void TokenNames::add(int64_t id, const std::string& token, const std::string& file) {
  if (id >= 0 && id < end_ && tokens_[static_cast<size_t>(id)] == token) return;
  set(id, token, file);
  tags_[static_cast<size_t>(id)] = has_tags_ = true;
}

void TokenNames::set_tags(bool (*is_tag)(std::string_view)) {
  for (size_t id = 0; id < tokens_.size(); ++id) tags_[id] = is_tag(tokens_[id]);
}

int64_t TokenNames::id_of(std::string_view token) const {
  const auto found = std::ranges::find(tokens_, token);
  return found == tokens_.end() ? -1 : found - tokens_.begin();
}

}  // namespace weft
