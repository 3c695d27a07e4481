// launch/reports/audit_report.cpp: formats the tables.
#include "launch/reports/audit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/audit/audit_file.h"
#include "launch/reports/shown_line.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"
#include "trainer/display/units.h"

namespace weft {
namespace {

double percent(int64_t part, int64_t whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
}

void print_sets(const std::vector<TestSetAudit>& sets) {
  size_t width = 8;
  for (const TestSetAudit& set : sets) width = std::max(width, set.name.size());
  fmt::print("{:<{}} {:>7} {:>8} {:>6}   {:>23}   {:>23}  {:>10}\n", "test set", width, "lines", "repeated", "both",
             "source: exact norm near", "target: exact norm near", "duplicates");
  for (const TestSetAudit& set : sets) {
    fmt::print("{:<{}} {:>7} {:>8} {:>6}", set.name, width, with_commas(set.lines), with_commas(set.leaked),
               with_commas(set.both_sides));
    for (const auto& count : set.repeated) fmt::print("   {:>13} {:>4} {:>4}", count[3], count[2], count[1]);
    fmt::print("  {:>10}\n", with_commas(set.duplicates));
  }
  for (const TestSetAudit& set : sets)
    if (set.left_out > 0)
      fmt::print("{} lines of {} are too short to be compared\n", with_commas(set.left_out), set.name);
  for (const TestSetAudit& set : sets)
    for (const auto& [other, lines] : set.in_others)
      fmt::print("{} repeats {} lines of {}\n", other, with_commas(lines), set.name);
}

void print_faults(const AuditReport& report) {
  fmt::print("\n{:<42} {:>10} {:>9}\n", "pairs of the text", with_commas(report.num_pairs), "share");
  for (size_t i = 0; i < kNumPairFaults; ++i) {
    const auto fault = static_cast<PairFault>(i);
    const int64_t count = report.faults.count(fault);
    fmt::print("  {:<40} {:>10} {:>7.3f} %\n", description(fault), with_commas(count),
               percent(count, report.num_pairs));
  }
  for (size_t i = 0; i < kNumPairFaults; ++i)
    for (const FaultyPair& pair : report.faults.first(static_cast<PairFault>(i)))
      fmt::print("\nline {}: {}\n  source  {}\n  target  {}\n", pair.number + 1, pair.reason, shown_line(pair.source),
                 shown_line(pair.target));
}

}  // namespace

int64_t warn_of_leaks(const std::string& set, const std::array<std::string, 2>& sha256,
                      const std::vector<std::string>& folders) {
  int64_t most = 0;
  for (const std::string& folder : folders) {
    std::optional<KnownAudit> found;
    try {
      found = find_audit(folder, sha256);
    } catch (const Error& e) {
      print_note("weft: warning: {}: {}\n", set, e.what());
    }
    if (!found || found->leaked == 0) continue;
    most = std::max(most, found->leaked);
    print_note(
        "weft: warning: {}: the training text {} repeats {} of {} lines ({:.1f} %), so the scores may be too "
        "good (weft audit)\n",
        set, folder, with_commas(found->leaked), with_commas(found->lines), percent(found->leaked, found->lines));
  }
  return most;
}

void print_audit(const AuditReport& report) {
  if (!report.sets.empty()) print_sets(report.sets);
  print_faults(report);
}

void print_audit_json(const AuditReport& report) {
  nlohmann::ordered_json json{{"pairs", report.num_pairs}, {"faulty_pairs", report.num_faulty}};
  for (size_t i = 0; i < kNumPairFaults; ++i)
    json["faults"][description(static_cast<PairFault>(i))] = report.faults.count(static_cast<PairFault>(i));
  json["sets"] = nlohmann::json::array();
  for (const TestSetAudit& set : report.sets) {
    nlohmann::ordered_json record{
        {"name", set.name},       {"lines", set.lines},           {"left_out", set.left_out},
        {"repeated", set.leaked}, {"both_sides", set.both_sides}, {"duplicates", set.duplicates}};
    for (size_t side = 0; side < 2; ++side) {
      const auto& count = set.repeated[side];
      record[side == 0 ? "source" : "target"] = {{"exact", count[3]}, {"normalized", count[2]}, {"near", count[1]}};
    }
    for (const auto& [other, lines] : set.in_others) record["repeated_in"][other] = lines;
    json["sets"].push_back(std::move(record));
  }
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace weft
