// data/audit/audit_file.cpp: reads and writes audit.json.
#include "data/audit/audit_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "data/shards/manifest.h"
#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {
namespace {

using nlohmann::json;

std::string path_in(const std::string& folder) { return folder + "/" + kAuditFile; }

// Returns the audited test sets, or an empty list if there is no audit of this corpus.
json read_sets(const std::string& folder, const std::string& corpus_sha256) {
  const std::string path = path_in(folder);
  if (!std::filesystem::exists(path)) return json::array();
  const json all = parse_strict_json(read_file(path), path, ErrorKind::data);
  try {
    return all.at("corpus_sha256").get<std::string>() == corpus_sha256 ? all.at("sets") : json::array();
  } catch (const json::exception& e) {
    fail(ErrorKind::data, fmt::format("{}: {}: delete it, and repeat `weft audit`", path, e.what()));
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
  for (const TestSetAudit& set : report.sets) file["sets"].push_back(record_of(set));
  for (const json& earlier : read_sets(folder, corpus)) {
    const auto is_same = [&](const TestSetAudit& set) {
      return earlier.value("source_sha256", "") == set.sha256[0] && earlier.value("target_sha256", "") == set.sha256[1];
    };
    if (std::ranges::none_of(report.sets, is_same)) file["sets"].push_back(nlohmann::ordered_json(earlier));
  }
  write_file_atomically(path_in(folder), file.dump(2) + "\n");
}

std::optional<KnownAudit> find_audit(const std::string& folder, const std::array<std::string, 2>& sha256) {
  if (!std::filesystem::exists(path_in(folder))) return std::nullopt;
  for (const json& set : read_sets(folder, read_manifest(folder).sha256)) {
    try {
      const auto matches = [&](const char* key, const std::string& digest) {
        return digest.empty() || set.at(key) == digest;
      };
      if (matches("source_sha256", sha256[0]) && matches("target_sha256", sha256[1]))
        return KnownAudit{set.at("name"), set.at("lines"), set.at("leaked"), set.at("both_sides")};
    } catch (const json::exception& e) {
      fail(ErrorKind::data, fmt::format("{}: {}: delete it, and repeat `weft audit`", path_in(folder), e.what()));
    }
  }
  return std::nullopt;
}

}  // namespace weft
