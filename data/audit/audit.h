// data/audit/audit.h: looks in a parallel text for what makes its test scores too good, or its training worse.
//
// Lines of test sets that the text repeats (data/audit/repeated_lines.h), on either side; text with a broken encoding
// or in the wrong language (text_faults.h); pairs whose sides have slipped against each other (shifted_lines.h). The
// text is read twice: first for a sample of its languages. Memory grows with the test sets, not with the text.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/audit/repeated_lines.h"
#include "data/packing/pair_text.h"
#include "data/tally.h"

namespace weft {

struct TestText {  // a test set; the sides have the same number of lines
  std::string name;
  std::array<std::vector<std::string>, 2> sides;  // source, target
};

// The faults of a pair, in the order in which one of them is reported.
enum class PairFault : uint8_t { repeats_test, encoding, source_language, target_language, shifted };
inline constexpr size_t kNumPairFaults = static_cast<size_t>(PairFault::shifted) + 1;
const char* description(PairFault fault);

struct FaultyPair {
  int64_t number = 0;  // from 0
  PairFault fault = PairFault::repeats_test;
  std::string reason;  // "repeats line 45 of help (source, near)"
  std::string source, target;
};

struct TestSetAudit {
  std::string name;
  int64_t lines = 0, left_out = 0;                   // left_out: both sides are too short to be compared
  std::array<std::string, 2> sha256;                 // digest_of() each side
  std::array<std::array<int64_t, 4>, 2> repeated{};  // [side][Repeat]: lines by the text's best repeat
  int64_t leaked = 0;                                // lines of which the text repeats a side
  int64_t both_sides = 0;                            // lines of which one pair of the text repeats both sides
  int64_t duplicates = 0;                            // lines with the normal text of an earlier line, on both sides
  std::vector<std::pair<std::string, int64_t>> in_others;  // lines that each other test set repeats, if any
};

struct AuditReport {
  int64_t num_pairs = 0, num_faulty = 0;
  std::vector<TestSetAudit> sets;
  Tally<PairFault, kNumPairFaults, FaultyPair> faults;
};

struct AuditedText {
  using Next = std::function<bool(TextPair&)>;  // returns false at the end
  std::function<Next()> open;                   // starts to read from the beginning
  bool in_order = true;                         // false: pairs were shuffled, so they cannot have slipped
};

struct AuditOptions {
  int threads = 1;
  int64_t num_examples = 3;                         // per fault
  std::function<void(const FaultyPair&)> on_fault;  // gets each faulty pair, once, in order; may be empty
  std::function<void(int64_t)> done;                // gets the number of pairs so far, from time to time
};

AuditReport audit(const AuditedText& text, const std::vector<TestText>& tests, const AuditOptions& options);

// Returns the SHA-256 of the lines without white space at their ends and without a byte order mark.
std::string digest_of(const std::vector<std::string>& lines);

}  // namespace weft
