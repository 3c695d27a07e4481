// launch/server/request.cpp: checks each field of a request.
#include "launch/server/request.h"

#include <fmt/format.h>

#include <algorithm>

#include "tensor/error.h"
#include "trainer/config/fields.h"
#include "trainer/config/nearest.h"

namespace weft {
namespace {

[[noreturn]] void refuse(const std::string& what) { fail(ErrorKind::usage, what); }

void check_line(const std::string& line, const char* key, const ServerLimits& limits) {
  if (std::ssize(line) > limits.line_bytes)
    refuse(fmt::format("\"{}\" has a line of {} bytes, and the limit is {}", key, line.size(), limits.line_bytes));
  if (line.find_first_of(std::string_view("\n\0", 2)) != std::string::npos)
    refuse(fmt::format("\"{}\" has a line break or NUL inside a line: send a list with one sentence per string", key));
}

}  // namespace

RequestReader::RequestReader(std::string_view body, const ServerLimits& limits)
    : fields_(nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false)), limits_(limits) {
  if (!fields_.is_object()) refuse("the body is not a JSON object in UTF-8");
}

template <typename T>
T RequestReader::value(const char* key, T usual, const char* kind) const {
  const auto found = fields_.find(key);
  if (found == fields_.end()) return usual;
  bool fits = found->is_number();
  if constexpr (std::is_same_v<T, bool>) fits = found->is_boolean();
  if constexpr (std::is_same_v<T, std::string>) fits = found->is_string();
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    fits = found->is_number_integer() &&
           (found->is_number_unsigned() ? found->template get<uint64_t>() <= INT64_MAX : std::is_signed_v<T>);
  }
  if (!fits) refuse(fmt::format("\"{}\" must be {}", key, kind));
  return found->template get<T>();
}

std::string RequestReader::model() const { return value<std::string>("model", "", "a string"); }

std::vector<std::string> RequestReader::lines(const char* key) const {
  const auto found = fields_.find(key);
  if (found == fields_.end()) refuse(fmt::format("\"{}\" is missing", key));
  std::vector<std::string> lines;
  const auto add = [&](const nlohmann::json& line) {
    if (!line.is_string()) refuse(fmt::format("\"{}\" must be a string or a list of strings", key));
    lines.push_back(line.get<std::string>());
    check_line(lines.back(), key, limits_);
  };
  if (found->is_array()) {
    if (std::ssize(*found) > limits_.lines)
      refuse(fmt::format("\"{}\" has {} lines, and the limit is {}", key, found->size(), limits_.lines));
    for (const nlohmann::json& line : *found) add(line);
  } else {
    add(*found);
  }
  return lines;
}

void RequestReader::refuse_given(std::initializer_list<const char*> keys, const char* why) const {
  for (const char* key : keys)
    if (fields_.contains(key)) refuse(fmt::format("\"{}\" {}", key, why));
}

void RequestReader::refuse_others(std::initializer_list<const char*> known) const {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [key, unused] : fields_.items()) {
    if (std::ranges::find(names, key) != names.end()) continue;
    const std::string nearest = nearest_name(key, names);
    refuse(fmt::format("unknown field {}{}", nlohmann::json(key).dump(),
                       nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
  }
}

ServedTranslation RequestReader::translation(const DecodeConfig& saved) const {
  refuse_others({"model", "text", "tag", "target_tag", "prefix", "alignment", "beam", "nbest", "length_penalty",
                 "samples", "top_k", "top_p", "temperature", "seed", "mbr"});
  ServedTranslation t{.lines = {}, .search = {.decode = saved}};
  SearchConfig& search = t.search;
  const char *whole = "a whole number", *number = "a number", *text = "a string";
  for (std::string& line : lines("text"))
    t.lines.push_back({.text = std::move(line),
                       .tag = value<std::string>("tag", "", text),
                       .target_tag = value<std::string>("target_tag", "", text),
                       .prefix = value<std::string>("prefix", "", text)});
  if (!t.lines.empty()) check_line(t.lines.front().prefix, "prefix", limits_);
  t.alignment = value("alignment", false, "true or false");
  search.decode.beam = value("beam", search.decode.beam, whole);
  search.decode.nbest = value<int64_t>("nbest", 1, whole);
  search.decode.length_penalty = value("length_penalty", search.decode.length_penalty, number);
  search.sampling = {.samples = value<int64_t>("samples", 0, whole),
                     .top_k = value<int64_t>("top_k", 0, whole),
                     .top_p = value("top_p", 1.0, number),
                     .temperature = value("temperature", 1.0, number),
                     .seed = value<uint64_t>("seed", 1, "a whole number from 0 on")};
  parse_value("mbr", value<std::string>("mbr", "none", text), search.utility);
  if (search.sampling.samples == 0)
    refuse_given({"top_k", "top_p", "temperature", "seed", "mbr"}, "applies only to samples: add \"samples\"");
  else
    refuse_given({"beam", "nbest"}, "applies only to beam search: leave out \"samples\" or this field");
  if (search.utility != RiskUtility::none && search.sampling.samples < 2)
    refuse("\"mbr\" compares samples: \"samples\" must be at least 2");
  const int64_t widest = std::max(limits_.beam, saved.beam);
  if (search.decode.beam > widest) refuse(fmt::format("\"beam\" is above the limit of {}", widest));
  if (search.sampling.samples < 0 || search.sampling.samples > limits_.samples)
    refuse(fmt::format("\"samples\" must be between 0 and {}", limits_.samples));
  search_options(search);
  return t;
}

ServedPairs RequestReader::pairs() const {
  refuse_others({"model", "source", "target", "tag", "target_tag"});
  ServedPairs pairs{.sources = {}, .targets = lines("target")};
  for (std::string& line : lines("source"))
    pairs.sources.push_back({.text = std::move(line),
                             .tag = value<std::string>("tag", "", "a string"),
                             .target_tag = value<std::string>("target_tag", "", "a string"),
                             .prefix = ""});
  if (pairs.sources.size() != pairs.targets.size())
    refuse(fmt::format("\"source\" has {} lines, but \"target\" has {}", pairs.sources.size(), pairs.targets.size()));
  return pairs;
}

}  // namespace weft
