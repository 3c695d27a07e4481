// data/audit/audit_file.cpp: reads and writes audit.json.
#include "data/audit/audit_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "data/atomic_file.h"
#include "data/shards/manifest.h"
#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {
namespace {

using nlohmann::json;

std::string path_in(const std::string& folder) { return folder + "/" + kAuditFile; }

[[noreturn]] void refuse(const std::string& folder, const std::string& why) {
  fail(ErrorKind::data, fmt::format("{}: {}: delete it, and repeat `weft audit`", path_in(folder), why));
}

// Returns the audited test sets, or an empty list if there is no audit of this corpus. Checks what find_audit reads.
std::vector<json> read_sets(const std::string& folder, const std::string& corpus_sha256) {
  std::error_code none;
  if (!std::filesystem::exists(path_in(folder), none)) return {};
  const json all = parse_strict_json(read_file(path_in(folder)), path_in(folder), ErrorKind::data);
  try {
    if (all.at("corpus_sha256").get<std::string>() != corpus_sha256) return {};
    const auto sets = all.at("sets").get<std::vector<json>>();
    for (const json& set : sets) {
      for (const char* key : {"name", "source_sha256", "target_sha256"}) set.at(key).get_ref<const std::string&>();
      for (const char* key : {"lines", "leaked"})
        require_whole_number(set.at(key), key, path_in(folder), ErrorKind::data);
    }
    return sets;
  } catch (const json::exception& e) {
    refuse(folder, e.what());
  }
}

nlohmann::ordered_json record_of(const TestSetAudit& set) {
  nlohmann::ordered_json record{{"name", set.name},
                                {"lines", set.lines},
                                {"leaked", set.leaked},
                                {"both_sides", set.both_sides},
                                {"source_sha256", set.sha256[0]},
                                {"target_sha256", set.sha256[1]}};
  for (size_t side = 0; side < 2; ++side) {
    const auto& count = set.repeated[side];
    record[side == 0 ? "source" : "target"] = {{"near", count[1]}, {"normalized", count[2]}, {"exact", count[3]}};
  }
  return record;
}

}  // namespace

void keep_audit(const std::string& folder, const AuditReport& report) {
  const std::string corpus = read_manifest(folder).sha256;
  nlohmann::ordered_json file{{"version", 1}, {"corpus_sha256", corpus}, {"near", RepeatedLines::kNear}};
  file["sets"] = json::array();
  for (const TestSetAudit& set : report.sets) file["sets"].push_back(record_of(set));
  std::vector<json> earlier;
  try {
    earlier = read_sets(folder, corpus);
  } catch (const Error&) {  // a damaged file is replaced
  }
  for (const json& record : earlier) {
    const auto is_same = [&](const TestSetAudit& set) {
      return record["source_sha256"] == set.sha256[0] && record["target_sha256"] == set.sha256[1];
    };
    if (std::ranges::none_of(report.sets, is_same)) file["sets"].push_back(nlohmann::ordered_json(record));
  }
  write_file_atomically(path_in(folder), file.dump(2) + "\n");
}

std::optional<KnownAudit> find_audit(const std::string& folder, const std::array<std::string, 2>& sha256) {
  std::error_code none;
  if (!std::filesystem::exists(path_in(folder), none)) return std::nullopt;
  for (const json& set : read_sets(folder, read_manifest(folder).sha256)) {
    const auto matches = [&](const char* key, const std::string& digest) {
      return digest.empty() || set[key] == digest;
    };
    if (matches("source_sha256", sha256[0]) && matches("target_sha256", sha256[1]))
      return KnownAudit{set["name"], set["lines"], set["leaked"]};
  }
  return std::nullopt;
}

}  // namespace weft
