// data/audit/audit_file.h: keeps in a packed corpus what an audit found (docs/formats/shard-format.md, audit.json), so
// that scores on a test set can be judged later.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "data/audit/audit.h"

namespace weft {

inline constexpr const char* kAuditFile = "audit.json";

struct KnownAudit {  // of one test set
  std::string name;
  int64_t lines = 0, leaked = 0;
};

// Adds the report's test sets to the audit of the corpus in `folder`. Earlier results of other test sets are kept
// unless the corpus has changed since then, or the file is damaged.
void keep_audit(const std::string& folder, const AuditReport& report);

// Returns the result for the test set whose sides have these digests (digest_of; an empty one matches any), or nothing
// if the corpus as it is now was not audited against it. Throws a data Error if the file is damaged.
std::optional<KnownAudit> find_audit(const std::string& folder, const std::array<std::string, 2>& sha256);

}  // namespace weft
