// trainer/import/json_fields.cpp: checks the type of each value that is read.
#include "trainer/import/json_fields.h"

#include <algorithm>
#include <filesystem>

#include "data/atomic_file.h"
#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {

JsonFields::JsonFields(const std::string& path)
    : path_(path), exists_(std::filesystem::exists(path)), json_(nlohmann::json::object()) {
  if (!exists_) return;
  json_ = parse_strict_json(read_file(path), path, ErrorKind::checkpoint);
  if (!json_.is_object()) refuse("the file is not a JSON object");
}

bool JsonFields::is_set(const char* key) const {
  return has(key) && json_[key] != false && json_[key] != 0 && json_[key] != "" && !json_[key].empty();
}

int64_t JsonFields::whole(const char* key, int64_t otherwise) const { return has(key) ? whole(key) : otherwise; }

int64_t JsonFields::whole(const char* key) const {
  if (!has(key)) refuse(fmt::format("{} is missing", key));
  if (!json_[key].is_number_integer()) refuse_type(key, "a whole number");
  return json_[key].get<int64_t>();
}

double JsonFields::number(const char* key, double otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_[key].is_number()) refuse_type(key, "a number");
  return json_[key].get<double>();
}

bool JsonFields::truth(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_[key].is_boolean()) refuse_type(key, "true or false");
  return json_[key].get<bool>();
}

std::string JsonFields::text(const char* key, const std::string& otherwise) const {
  if (!has(key)) return otherwise;
  if (!json_[key].is_string()) refuse_type(key, "a text");
  return json_[key].get<std::string>();
}

std::vector<int64_t> JsonFields::wholes(const char* key) const {
  if (!has(key)) refuse(fmt::format("{} is missing", key));
  const nlohmann::json& list = json_[key];
  if (!list.is_array() || !std::ranges::all_of(list, [](const auto& v) { return v.is_number_integer(); }))
    refuse_type(key, "a list of whole numbers");
  return list.get<std::vector<int64_t>>();
}

std::vector<std::string> JsonFields::texts(const char* key) const {
  if (!has(key)) return {};
  const nlohmann::json& list = json_[key];
  if (!list.is_array() || !std::ranges::all_of(list, [](const auto& v) { return v.is_string(); }))
    refuse_type(key, "a list of texts");
  return list.get<std::vector<std::string>>();
}

void JsonFields::refuse(const std::string& why) const {
  fail(ErrorKind::checkpoint, fmt::format("{}: {}", path_, why));
}

void JsonFields::refuse_type(const char* key, const char* wanted) const {
  const nlohmann::json& value = json_[key];
  refuse(fmt::format("{} is {}, not {}", key, printable(value.is_string() ? value.get<std::string>() : value.dump()),
                     wanted));
}

}  // namespace weft
