// launch/reports/audit_report.h: prints what an audit found, as tables with examples or as JSON.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "data/audit/audit.h"

namespace weft {

void print_audit(const AuditReport& report);
void print_audit_json(const AuditReport& report);

// Warns on standard error if the audit of a training corpus in `folders` found lines of the test set. Folders without
// an audit are passed over, and a damaged audit is only reported. An empty digest matches any. Returns the largest
// number of lines that a corpus repeats.
int64_t warn_of_leaks(const std::string& set, const std::array<std::string, 2>& sha256,
                      const std::vector<std::string>& folders);

}  // namespace weft
