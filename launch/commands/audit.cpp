// launch/commands/audit.cpp: `weft audit` looks for test lines in a training text, and for faulty pairs.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "data/atomic_file.h"
#include "data/audit/audit.h"
#include "data/audit/audit_file.h"
#include "data/corpus.h"
#include "data/text/line_list.h"
#include "data/text/split.h"
#include "data/tokenizer.h"
#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/options.h"
#include "launch/reports/audit_report.h"
#include "tensor/context.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"
#include "trainer/display/units.h"

namespace weft {
namespace {

constexpr const char* kAuditUsage =
    R"(audit CORPUS | --source FILE --target FILE | --tsv FILE [--against SOURCE,TARGET ...] [options]

Finds lines of test sets that a training text repeats, on either side: exactly, apart from case and punctuation, or
nearly. A repeated line makes the scores on the test set too good. Also finds pairs with a broken encoding, in another
language, and runs of pairs whose sides have slipped against each other. See docs/audit.md for the definitions.

CORPUS is a folder written by `weft pack`. Its audit is kept there, and `weft evaluate` then warns when it scores a run
on a test set that the corpus repeats. An audit of a text lists the lines to drop:

  weft audit packed/train --against test.en,test.de --against dev=valid.en,valid.de
  weft audit --source train.en --target train.de --against test.en,test.de --drop drop.txt
  weft pack --source train.en --target train.de --without drop.txt --output packed/train --vocab-size 8000)";

struct AuditRequest {
  std::vector<std::string> corpus, against;
  PairFiles text;
  std::string drop;
  int64_t examples = 3;
  bool json = false, quiet = false;
};

bool parse(const std::vector<std::string>& args, AuditRequest& r) {
  Options options(kAuditUsage);
  options.positional("CORPUS", r.corpus, "folder written by `weft pack`");
  options.add("against", r.against,
              "a test set: SOURCE,TARGET or NAME=SOURCE,TARGET; repeat the option for several sets (./a=b.en is a path "
              "with =)");
  options.add("source", r.text.source, "source text, one sentence per line, plain or compressed");
  options.add("target", r.text.target, "translation of the source text, line by line");
  options.add("tsv", r.text.tsv, "file with one pair per line in tab-separated columns, instead of a corpus");
  options.add("columns", r.text.columns, "columns of --tsv in the file's order, as for `weft pack`");
  options.add("drop", r.drop,
              "write the numbers of the faulty lines, with the reason, to this file, for `weft pack --without`");
  options.add("examples", r.examples, "number of faulty pairs to show per kind of fault");
  options.add("json", r.json, "print one JSON object instead of tables");
  options.add("quiet", r.quiet, "print no progress");
  if (!options.parse(args)) return false;
  const bool has_text = options.given("source") || options.given("target") || options.given("tsv");
  if (r.corpus.size() + (has_text ? 1 : 0) != 1)
    fail(ErrorKind::usage, "give one text to audit: a packed corpus, --source with --target, or --tsv");
  if (!r.drop.empty() && !has_text)
    fail(ErrorKind::usage,
         "--drop lists lines of a text, but a packed corpus has none: audit the text that was packed");
  if (r.corpus.empty() && r.text.tsv.empty() && (r.text.source.empty() || r.text.target.empty()))
    fail(ErrorKind::usage, "give both --source and --target");
  if (!r.text.tsv.empty() && (options.given("source") || options.given("target")))
    fail(ErrorKind::usage, "--tsv contains both sides: leave out --source and --target");
  if (options.given("columns") && r.text.tsv.empty()) fail(ErrorKind::usage, "--columns needs --tsv");
  if (r.json && options.given("examples")) fail(ErrorKind::usage, "--examples has no effect with --json: leave it out");
  if (r.examples < 0) fail(ErrorKind::usage, fmt::format("--examples must be at least 0, but is {}", r.examples));
  return true;
}

void refuse_to_replace(const std::string& drop, const std::vector<std::string>& inputs) {
  std::error_code not_there;
  for (const std::string& input : inputs)
    if (!drop.empty() && std::filesystem::equivalent(drop, input, not_there))
      fail(ErrorKind::usage, fmt::format("--drop {} would replace the text {}: give another file", drop, input));
}

TestText read_test(const std::string& given, const std::string& drop) {
  TestText test;
  std::string files = given;
  if (const size_t equals = given.find('='); equals != std::string::npos && equals < given.find('/'))
    test.name = given.substr(0, equals), files = given.substr(equals + 1);
  const std::vector<std::string> sides = split_at_commas(files);
  if (sides.size() != 2 || sides[0].empty() || sides[1].empty())
    fail(ErrorKind::usage,
         fmt::format("--against {}: give two files without commas in their names, as SOURCE,TARGET or "
                     "NAME=SOURCE,TARGET",
                     given));
  if (test.name.empty()) test.name = std::filesystem::path(sides[0]).filename().string();
  refuse_to_replace(drop, {sides[0], sides[1]});
  for (size_t side = 0; side < 2; ++side) test.sides[side] = read_text_file(sides[side]);
  return test;
}

std::vector<TestText> read_tests(const AuditRequest& r) {
  std::vector<TestText> tests;
  std::set<std::string> names;
  for (const std::string& given : r.against) {
    tests.push_back(read_test(given, r.drop));
    if (!names.insert(tests.back().name).second)
      fail(ErrorKind::usage,
           fmt::format("two test sets are called {}: name them, as --against NAME=SOURCE,TARGET", tests.back().name));
  }
  return tests;
}

AuditedText text_of_files(const PairFiles& files) {
  return {.open = [files]() -> AuditedText::Next {
            return [text = std::make_shared<PairText>(files)](TextPair& pair) { return text->next(pair); };
          },
          .in_order = true};
}

// The pairs of a corpus, without their tags, in a shuffled order.
class CorpusText {
 public:
  explicit CorpusText(const std::string& folder)
      : corpus_(folder),
        source_(folder + "/" + corpus_.manifest().source_tokenizer),
        target_(folder + "/" + corpus_.manifest().target_tokenizer) {}

  bool next(TextPair& pair) {
    if (at_ == ids_.size()) {
      const int64_t left = corpus_.num_pairs() - num_read_;
      if (left == 0) return false;
      corpus_.read_pairs(num_read_, std::min(kAtOnce, left), ids_);
      at_ = 0;
    }
    ++num_read_;
    pair.source = text_of(ids_[at_].source, source_);
    pair.target = text_of(ids_[at_++].target, target_);
    return true;
  }

 private:
  static constexpr int64_t kAtOnce = 1000;

  static std::string text_of(std::vector<int32_t> ids, const Tokenizer& tokenizer) {
    std::erase_if(ids, [&](int32_t id) { return tokenizer.is_tag(id); });
    return tokenizer.decode(ids);
  }

  Corpus corpus_;
  Tokenizer source_, target_;
  std::vector<PairIds> ids_;
  size_t at_ = 0;
  int64_t num_read_ = 0;
};

AuditedText text_of_corpus(const std::string& folder) {
  read_tokenizers(folder, read_manifest(folder));  // checks their digests
  return {.open = [folder]() -> AuditedText::Next {
            return [text = std::make_shared<CorpusText>(folder)](TextPair& pair) { return text->next(pair); };
          },
          .in_order = false};
}

AuditReport audit_text(const AuditRequest& r, const std::vector<TestText>& tests) {
  ProgressBar bar("auditing", "pairs", r.corpus.empty() ? 0 : read_manifest(r.corpus[0]).num_pairs,
                  ProgressOutput::standard(r.quiet));
  std::optional<AtomicFile> list;
  if (!r.drop.empty()) list.emplace(r.drop);
  AuditOptions options{.threads = num_threads(), .num_examples = r.examples};
  options.done = [&](int64_t pairs) { bar.update(pairs); };
  if (list)
    options.on_fault = [&](const FaultyPair& pair) {
      list->write(fmt::format("{}\t{}\n", pair.number + 1, pair.reason));
    };
  const AuditReport report =
      audit(r.corpus.empty() ? text_of_files(r.text) : text_of_corpus(r.corpus[0]), tests, options);
  if (list) {
    list->write(size_of_text(report.num_pairs) + "\n");
    list->commit();
  }
  return report;
}

}  // namespace

int run_audit(const CommandContext& context) {
  AuditRequest r;
  if (!parse(context.args, r)) return 0;
  refuse_to_replace(r.drop, {r.text.source, r.text.target, r.text.tsv});
  const std::vector<TestText> tests = read_tests(r);
  const AuditReport report = audit_text(r, tests);
  r.json ? print_audit_json(report) : print_audit(report);
  if (!r.corpus.empty()) keep_audit(r.corpus[0], report);
  if (!r.drop.empty() && !r.quiet && !r.json)
    fmt::print("\n{}: {} lines to leave out: weft pack --without {} ...\n", r.drop, with_commas(report.num_faulty),
               r.drop);
  return 0;
}

}  // namespace weft
