// data/shards/manifest.cpp: reads manifest.json, checking every field, and writes it.
#include "data/shards/manifest.h"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/atomic_file.h"
#include "data/sha256.h"
#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  // keeps the order of keys

constexpr const char* kFormat = "weft corpus";
constexpr int64_t kNewestVersion = 3;
constexpr uintmax_t kMaxBytes = 64 << 20;
constexpr int64_t kMaxCount = int64_t{1} << 53;

// Wraps one JSON object of the manifest. The Error of every getter names the field and the file.
class Fields {
 public:
  Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object_.is_object()) fail(ErrorKind::data, fmt::format("{} is not a JSON object", path_));
  }

  const Json& get(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) bad(key, "is missing");
    return *found;
  }
  int64_t count(const char* key) const {
    const Json& value = get(key);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(kMaxCount))
      bad(key, "is not a whole number from 0 to 2^53");
    return value.get<int64_t>();
  }
  bool boolean(const char* key) const {
    if (!get(key).is_boolean()) bad(key, "is not true or false");
    return get(key).get<bool>();
  }
  std::string text(const char* key) const {
    if (!get(key).is_string()) bad(key, "is not a string");
    return get(key).get<std::string>();
  }
  std::string file_name(const char* key) const {
    const std::string name = text(key);
    const auto plain = [](unsigned char c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ||
             c == '-';
    };
    if (name.empty() || name.size() > NAME_MAX || name[0] == '.' || name[0] == '-' ||
        !std::all_of(name.begin(), name.end(), plain))
      bad(key, "is not a plain file name");
    return name;
  }
  std::string digest(const char* key) const {
    const std::string hex = text(key);
    if (hex.size() != 64 || hex.find_first_not_of("0123456789abcdef") != std::string::npos)
      bad(key, "is not a SHA-256 of 64 lower-case hex digits");
    return hex;
  }
  [[noreturn]] void bad(const char* key, const char* what) const {
    fail(ErrorKind::data, fmt::format("{}: field '{}' {}", path_, key, what));
  }

 private:
  const Json& object_;
  std::string path_;
};

std::string text_of(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error)
    fail(ErrorKind::data,
         fmt::format("{}: {}; give the folder of a corpus that `weft pack` made", path, error.message()));
  if (size > kMaxBytes) fail(ErrorKind::data, fmt::format("{} is larger than 64 MB, so it is not a manifest", path));
  return read_file(path);
}

ShardEntry read_shard_entry(const Json& json, const std::string& path) {
  const Fields fields(json, path);
  ShardEntry entry{.file = fields.file_name("file"),
                   .sha256 = fields.digest("sha256"),
                   .num_pairs = fields.count("num_pairs"),
                   .source_tokens = fields.count("source_pieces"),
                   .target_tokens = fields.count("target_pieces")};
  if (entry.num_pairs == 0) fields.bad("num_pairs", "is 0, but a shard contains at least one pair");
  return entry;
}

PairColumns read_columns(const Fields& fields) {
  PairColumns columns;
  const Json& names = fields.get("columns");
  if (!names.is_array()) fields.bad("columns", "is not an array");
  for (const Json& name : names) {
    if (name != "weight" && name != "score") fields.bad("columns", "contains something other than weight and score");
    bool& column = name == "weight" ? columns.weight : columns.score;
    if (std::exchange(column, true)) fields.bad("columns", "contains the same column twice");
  }
  if (!columns.any()) fields.bad("columns", "is empty, but only version 1 has no columns");
  return columns;
}

Variants read_variants(const Fields& fields, const std::string& path) {
  const Fields entry(fields.get("variants"), path + ": variants");
  Variants variants{.count = entry.count("count"), .made_by = {}};
  if (variants.count < 1 || variants.count > kMaxVariants) entry.bad("count", "is not a whole number from 1 to 1000");
  if (!entry.get("made_by").is_object()) entry.bad("made_by", "is not an object");
  for (const auto& [option, value] : entry.get("made_by").items()) {
    if (!value.is_string()) entry.bad("made_by", "contains something other than strings");
    variants.made_by[option] = value.get<std::string>();
  }
  return variants;
}

// Every count is at most 2^53, and the loop ends when the sum is larger, so the unsigned sum cannot wrap.
void check_sum(const Fields& fields, const char* key, const std::vector<ShardEntry>& shards,
               int64_t ShardEntry::*member) {
  uint64_t sum = 0;
  for (const ShardEntry& shard : shards) {
    sum += static_cast<uint64_t>(shard.*member);
    if (sum > static_cast<uint64_t>(kMaxCount)) break;
  }
  if (sum != static_cast<uint64_t>(fields.count(key))) fields.bad(key, "is not the sum over the shards");
}

OrderedJson json_of(const Creation& creation) {
  OrderedJson json = {
      {"source_file", creation.source_file}, {"target_file", creation.target_file}, {"seed", creation.seed},
      {"shuffled", creation.shuffled},       {"max_length", creation.max_length},   {"over_long", creation.over_long},
      {"shard_pairs", creation.shard_pairs}};
  if (!creation.tag.empty()) json["tag"] = creation.tag;
  if (!creation.target_tag.empty()) json["target_tag"] = creation.target_tag;
  if (creation.documents > 0) json["documents"] = creation.documents;
  for (const auto& [reason, pairs] : creation.dropped) json["dropped"][reason] = pairs;
  return json;
}

}  // namespace

Manifest read_manifest(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / kManifestFile).string();
  const std::string text = text_of(path);
  const Json json = parse_strict_json(text, path, ErrorKind::data);
  const Fields fields(json, path);
  if (fields.text("format") != kFormat) fields.bad("format", "is not \"weft corpus\"");
  Manifest m;
  m.sha256 = sha256_of(text);
  m.version = fields.count("version");
  if (m.version < 1 || m.version > kNewestVersion)
    fail(ErrorKind::data, fmt::format("{}: format version {} is unknown, because this Weft reads only versions 1 to "
                                      "{}; pack the corpus again, or use the Weft that packed it",
                                      path, m.version, kNewestVersion));
  if (m.version == 2 || (m.version == 3 && json.contains("columns"))) m.columns = read_columns(fields);
  if (m.version == 3) m.variants = read_variants(fields, path);
  m.joint_vocabulary = fields.boolean("joint_vocabulary");
  m.source_vocabulary = fields.count("source_vocabulary");
  m.target_vocabulary = fields.count("target_vocabulary");
  m.source_tokenizer = fields.file_name("source_tokenizer");
  m.target_tokenizer = fields.file_name("target_tokenizer");
  m.source_tokenizer_sha256 = fields.digest("source_tokenizer_sha256");
  m.target_tokenizer_sha256 = fields.digest("target_tokenizer_sha256");
  m.num_pairs = fields.count("num_pairs");
  m.source_tokens = fields.count("source_pieces");
  m.target_tokens = fields.count("target_pieces");
  m.longest_source = fields.count("longest_source");
  m.longest_target = fields.count("longest_target");
  if (json.contains("references_sha256")) m.references_sha256 = fields.digest("references_sha256");
  if (m.joint_vocabulary && m.source_vocabulary != m.target_vocabulary)
    fields.bad("joint_vocabulary", "is true, but the two vocabularies differ in size");
  if (!fields.get("shards").is_array()) fields.bad("shards", "is not an array");
  for (const Json& entry : fields.get("shards"))
    m.shards.push_back(read_shard_entry(entry, fmt::format("{}: shards[{}]", path, m.shards.size())));
  if (m.shards.empty()) fields.bad("shards", "is empty");
  check_sum(fields, "num_pairs", m.shards, &ShardEntry::num_pairs);
  check_sum(fields, "source_pieces", m.shards, &ShardEntry::source_tokens);
  check_sum(fields, "target_pieces", m.shards, &ShardEntry::target_tokens);
  return m;
}

namespace {

void write(const std::string& folder, const Manifest& m, const OrderedJson& creation) {
  OrderedJson shards = OrderedJson::array();
  for (const ShardEntry& shard : m.shards)
    shards.push_back({{"file", shard.file},
                      {"sha256", shard.sha256},
                      {"num_pairs", shard.num_pairs},
                      {"source_pieces", shard.source_tokens},
                      {"target_pieces", shard.target_tokens}});
  OrderedJson json = {{"format", kFormat},
                      {"version", format_version(m.columns, m.variants)},
                      {"joint_vocabulary", m.joint_vocabulary},
                      {"source_vocabulary", m.source_vocabulary},
                      {"target_vocabulary", m.target_vocabulary},
                      {"source_tokenizer", m.source_tokenizer},
                      {"target_tokenizer", m.target_tokenizer},
                      {"source_tokenizer_sha256", m.source_tokenizer_sha256},
                      {"target_tokenizer_sha256", m.target_tokenizer_sha256},
                      {"num_pairs", m.num_pairs},
                      {"source_pieces", m.source_tokens},
                      {"target_pieces", m.target_tokens},
                      {"longest_source", m.longest_source},
                      {"longest_target", m.longest_target},
                      {"shards", shards},
                      {"creation", creation}};
  if (!m.references_sha256.empty()) json["references_sha256"] = m.references_sha256;
  if (m.columns.weight) json["columns"].push_back("weight");
  if (m.columns.score) json["columns"].push_back("score");
  if (m.variants.count > 0)
    json["variants"] = {{"count", m.variants.count}, {"made_by", OrderedJson(m.variants.made_by)}};
  // A file name in `creation` may not be UTF-8. Invalid bytes are replaced, because packing must not fail at its end.
  const std::string text = json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
  write_file_atomically((std::filesystem::path(folder) / kManifestFile).string(), text);
}

}  // namespace

std::string names_of(PairColumns columns) {
  if (!columns.any()) return "none";
  return columns.weight && columns.score ? "weight, score" : columns.weight ? "weight" : "score";
}

int64_t format_version(PairColumns columns, const Variants& variants) {
  return variants.count > 0 ? 3 : columns.any() ? 2 : 1;
}

void write_manifest(const std::string& folder, const Manifest& manifest, const Creation& creation) {
  write(folder, manifest, json_of(creation));
}

void extend_manifest(const std::string& folder, const Manifest& manifest, const Creation& added) {
  const OrderedJson old = OrderedJson::parse(read_file((std::filesystem::path(folder) / kManifestFile).string()));
  OrderedJson creation = old.value("creation", OrderedJson::object());
  if (!creation.is_object()) creation = OrderedJson::object();  // other software may have written a different type
  if (!creation["appended"].is_array()) creation["appended"] = OrderedJson::array();
  creation["appended"].push_back(json_of(added));
  write(folder, manifest, creation);
}

}  // namespace weft
