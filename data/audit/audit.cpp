// data/audit/audit.cpp: checks chunks of pairs on all threads, and collects the findings in order.
#include "data/audit/audit.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "data/audit/shifted_lines.h"
#include "data/audit/shingles.h"
#include "data/audit/text_faults.h"
#include "data/ordered_tasks.h"
#include "data/sha256.h"
#include "data/text/unicode.h"
#include "tensor/error.h"
#include "tensor/random.h"

namespace weft {
namespace {

constexpr size_t kSample = 20'000;  // pairs whose languages are learned

constexpr const char* kSideNames[] = {"source", "target"};

// The lines of all test sets, numbered from 0, with an index of each side.
class TestLines {
 public:
  explicit TestLines(const std::vector<TestText>& tests) {
    std::array<std::vector<std::string>, 2> all;
    for (size_t set = 0; set < tests.size(); ++set) {
      begin_.push_back(static_cast<int32_t>(all[0].size()));
      names_.push_back(tests[set].name);
      for (size_t side = 0; side < 2; ++side)
        all[side].insert(all[side].end(), tests[set].sides[side].begin(), tests[set].sides[side].end());
    }
    num_lines_ = static_cast<int32_t>(all[0].size());
    for (size_t side = 0; side < 2; ++side) sides_[side] = std::make_unique<RepeatedLines>(all[side]);
  }

  const RepeatedLines& side(size_t side) const { return *sides_[side]; }
  int32_t num_lines() const { return num_lines_; }
  size_t set_of(int32_t line) const {
    return static_cast<size_t>(std::ranges::upper_bound(begin_, line) - begin_.begin()) - 1;
  }
  std::string describe(int32_t line) const {
    const size_t set = set_of(line);
    return fmt::format("line {} of {}", line - begin_[set] + 1, names_[set]);
  }

 private:
  std::vector<int32_t> begin_;  // of each set; a set without lines is refused
  std::vector<std::string> names_;
  int32_t num_lines_ = 0;
  std::array<std::unique_ptr<RepeatedLines>, 2> sides_;
};

struct Chunk {
  int64_t first = 0;
  std::vector<TextPair> pairs;
};

struct CheckedPair {
  std::array<std::vector<RepeatedLines::Hit>, 2> hits;
  PairFault fault = PairFault::repeats_test;
  std::string reason;  // empty: no fault
  std::array<std::vector<uint64_t>, 2> kept_words;
};

std::optional<std::shared_ptr<Chunk>> read_chunk(const AuditedText::Next& next, int64_t first) {
  std::vector<TextPair> pairs = read_some_pairs(next);
  if (pairs.empty()) return std::nullopt;
  return std::make_shared<Chunk>(Chunk{.first = first, .pairs = std::move(pairs)});
}

class PairChecker {
 public:
  PairChecker(const TestLines& tests, const LanguageCheck& languages, bool in_order)
      : tests_(tests), languages_(languages), in_order_(in_order) {}

  std::vector<CheckedPair> check(const Chunk& chunk) const {
    std::vector<CheckedPair> checked;
    for (const TextPair& pair : chunk.pairs) checked.push_back(check_pair(pair));
    return checked;
  }

 private:
  CheckedPair check_pair(const TextPair& pair) const {
    const std::array<std::string_view, 2> sides{pair.source, pair.target};
    CheckedPair checked;
    std::array<std::string, 2> normal;
    const auto fault = [&](PairFault kind, const std::string& reason) {
      if (checked.reason.empty()) checked.fault = kind, checked.reason = reason;
    };
    for (size_t side = 0; side < 2; ++side) {
      normal[side] = normal_text(sides[side]);
      checked.hits[side] = tests_.side(side).find(sides[side], normal[side]);
      const auto best = std::ranges::max_element(checked.hits[side], {}, &RepeatedLines::Hit::repeat);
      if (best != checked.hits[side].end())
        fault(PairFault::repeats_test, fmt::format("repeats {} ({}, {})", tests_.describe(best->line), kSideNames[side],
                                                   name_of_enum(best->repeat)));
      if (in_order_) checked.kept_words[side] = kept_words(normal[side]);
    }
    for (size_t side = 0; side < 2; ++side)
      if (const char* what = encoding_fault(sides[side]))
        fault(PairFault::encoding, fmt::format("{}: {}", kSideNames[side], what));
    for (size_t side = 0; side < 2; ++side) {
      using enum LanguageCheck::Verdict;
      const auto verdict = languages_.check(normal[side], static_cast<LanguageCheck::Side>(side));
      if (verdict == usual) continue;
      fault(side == 0 ? PairFault::source_language : PairFault::target_language,
            verdict == of_other_side ? fmt::format("{}: in the language of the other side", kSideNames[side])
                                     : fmt::format("{}: unlike the other lines", kSideNames[side]));
    }
    return checked;
  }

  const TestLines& tests_;
  const LanguageCheck& languages_;
  bool in_order_;
};

// Remembers for each test line the best repeat on each side, and whether one pair repeats both.
class Leaks {
 public:
  explicit Leaks(int32_t num_lines) : lines_(static_cast<size_t>(num_lines)) {}
  void add(const CheckedPair& pair) {
    for (size_t side = 0; side < 2; ++side)
      for (const auto& [line, repeat] : pair.hits[side]) {
        Repeat& best = lines_[static_cast<size_t>(line)].best[side];
        best = std::max(best, repeat);
        if (side == 1 && std::ranges::binary_search(pair.hits[0], line, {}, &RepeatedLines::Hit::line))
          lines_[static_cast<size_t>(line)].both = true;
      }
  }
  void report(int32_t line, TestSetAudit& into) const {
    const Line& l = lines_[static_cast<size_t>(line)];
    for (size_t side = 0; side < 2; ++side) ++into.repeated[side][static_cast<size_t>(l.best[side])];
    into.leaked += std::max(l.best[0], l.best[1]) != Repeat::none;
    into.both_sides += l.both;
  }

 private:
  struct Line {
    std::array<Repeat, 2> best{Repeat::none, Repeat::none};
    bool both = false;
  };
  std::vector<Line> lines_;
};

// Learns from a sample of the whole text (reservoir sampling, Vitter 1985), or from the beginning of a shuffled one.
LanguageCheck learn_languages(const AuditedText& text) {
  std::array<std::vector<std::string>, 2> sides;
  const AuditedText::Next next = text.open();
  TextPair pair;
  for (uint64_t number = 0; (text.in_order || number < kSample) && next(pair); ++number) {
    const uint64_t place = number < kSample ? number : philox(/*seed=*/1, number, 0, 0).v[0] % (number + 1);
    if (place >= kSample) continue;
    for (std::vector<std::string>& side : sides) side.resize(std::max(side.size(), place + 1));
    sides[0][place] = normal_text(pair.source);
    sides[1][place] = normal_text(pair.target);
  }
  return LanguageCheck(sides);
}

// Reports faulty pairs in order. A pair counts once. The shift of a pair is known only some pairs later.
class Findings {
 public:
  Findings(AuditReport& report, const AuditOptions& options)
      : report_(report), options_(options), shifted_([this](int64_t pair, int64_t distance) {
          FaultyPair& waiting = waiting_.at(pair);
          if (!waiting.reason.empty()) return;
          waiting.fault = PairFault::shifted;
          waiting.reason = fmt::format("in a run whose sources belong to the targets {} {} {}", std::abs(distance),
                                       std::abs(distance) == 1 ? "line" : "lines", distance > 0 ? "below" : "above");
        }) {}

  void add(CheckedPair pair, TextPair&& text, int64_t number, bool in_order) {
    waiting_.emplace(
        number, FaultyPair{number, pair.fault, std::move(pair.reason), std::move(text.source), std::move(text.target)});
    if (in_order) shifted_.add(std::move(pair.kept_words[0]), std::move(pair.kept_words[1]));
    constexpr int64_t kLatest = ShiftedLines::kWindow + 2 * ShiftedLines::kMost;
    while (std::ssize(waiting_) > kLatest) pass_on();
  }
  void finish() {
    shifted_.finish();
    while (!waiting_.empty()) pass_on();
  }

 private:
  void pass_on() {
    const FaultyPair& pair = waiting_.begin()->second;
    if (!pair.reason.empty()) {
      report_.faults.add(pair.fault, pair);
      ++report_.num_faulty;
      if (options_.on_fault) options_.on_fault(pair);
    }
    waiting_.erase(waiting_.begin());
  }

  AuditReport& report_;
  const AuditOptions& options_;
  std::map<int64_t, FaultyPair> waiting_;  // by number; without a reason if there is no fault
  ShiftedLines shifted_;
};

std::vector<TestSetAudit> describe_sets(const std::vector<TestText>& tests, const TestLines& lines) {
  std::vector<TestSetAudit> sets;
  int32_t line = 0;
  for (const TestText& test : tests) {
    TestSetAudit set{.name = test.name, .lines = std::ssize(test.sides[0])};
    for (size_t side = 0; side < 2; ++side) set.sha256[side] = digest_of(test.sides[side]);
    std::set<std::pair<std::string, std::string>> seen;
    for (size_t i = 0; i < test.sides[0].size(); ++i, ++line) {
      if (lines.side(0).is_short(line) && lines.side(1).is_short(line)) {
        ++set.left_out;
        continue;
      }
      set.duplicates += !seen.emplace(normal_text(test.sides[0][i]), normal_text(test.sides[1][i])).second;
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

// Counts for each pair of test sets the lines of one that the other repeats.
void compare_sets(const std::vector<TestText>& tests, const TestLines& lines, std::vector<TestSetAudit>& sets) {
  for (size_t other = 0; other < tests.size(); ++other) {
    std::map<size_t, std::set<int32_t>> repeated;  // lines by their set
    for (size_t side = 0; side < 2; ++side)
      for (const std::string& text : tests[other].sides[side])
        for (const RepeatedLines::Hit& hit : lines.side(side).find(text, normal_text(text)))
          repeated[lines.set_of(hit.line)].insert(hit.line);
    repeated.erase(other);
    for (const auto& [set, found] : repeated) sets[set].in_others.emplace_back(tests[other].name, std::ssize(found));
  }
}

}  // namespace

const char* description(PairFault fault) {
  constexpr const char* kDescriptions[] = {"repeats a line of a test set", "broken encoding",
                                           "source in another language", "target in another language",
                                           "sides have slipped against each other"};
  return kDescriptions[static_cast<size_t>(fault)];
}

std::string digest_of(const std::vector<std::string>& lines) {
  Sha256 digest;
  for (const std::string& line : lines) {
    std::string_view text = line;
    if (&line == &lines.front() && text.starts_with("\uFEFF")) text.remove_prefix(3);  // not every reader skips it
    text = trim(text);
    digest.update(text.data(), text.size());
    digest.update("\n", 1);
  }
  return digest.hex();
}

AuditReport audit(const AuditedText& text, const std::vector<TestText>& tests, const AuditOptions& options) {
  for (const TestText& test : tests) {
    if (test.sides[0].empty()) fail(ErrorKind::data, fmt::format("the test set {} has no lines", test.name));
    if (test.sides[0].size() != test.sides[1].size())
      fail(ErrorKind::data, fmt::format("the test set {} has {} sources, but {} targets", test.name,
                                        test.sides[0].size(), test.sides[1].size()));
  }
  const TestLines lines(tests);
  const LanguageCheck languages = learn_languages(text);
  AuditReport report{.sets = describe_sets(tests, lines), .faults = decltype(report.faults)(options.num_examples)};
  compare_sets(tests, lines, report.sets);
  Leaks leaks(lines.num_lines());
  Findings findings(report, options);
  const PairChecker checker(lines, languages, text.in_order);
  const AuditedText::Next next = text.open();
  int64_t num_read = 0;
  run_in_order(
      options.threads,
      [&] {
        auto chunk = read_chunk(next, num_read);
        if (chunk) num_read += std::ssize((*chunk)->pairs);
        return chunk;
      },
      [&](const std::shared_ptr<Chunk>& chunk) { return std::pair(chunk, checker.check(*chunk)); },
      [&](std::pair<std::shared_ptr<Chunk>, std::vector<CheckedPair>> done) {
        auto& [chunk, checked] = done;
        for (size_t i = 0; i < checked.size(); ++i) {
          leaks.add(checked[i]);
          findings.add(std::move(checked[i]), std::move(chunk->pairs[i]), report.num_pairs++, text.in_order);
        }
        if (options.done) options.done(report.num_pairs);
      });
  findings.finish();
  for (int32_t line = 0; line < lines.num_lines(); ++line) leaks.report(line, report.sets[lines.set_of(line)]);
  return report;
}

}  // namespace weft
