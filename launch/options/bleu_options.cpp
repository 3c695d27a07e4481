// launch/options/bleu_options.cpp: defines the names and help texts of the options, and checks their combinations.
#include "launch/options/bleu_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/text/split.h"
#include "launch/options/options.h"
#include "tensor/error.h"
#include "trainer/config/nearest.h"

namespace weft {
namespace {

const std::vector<std::string> kMetrics{"bleu", "chrf", "ter"};

constexpr int64_t kMaxSamples = 1'000'000;

void describe(Options& options, BleuRequest& r) {
  options.positional("HYPOTHESIS", r.hypothesis_files,
                     "files of translations to score, one sentence per line; without a file, or with -, the command "
                     "reads standard input; paired tests use the first file as the baseline");
  options.add("reference", r.reference_files, "reference file, or - for standard input; repeat for more references");
  options.add("metrics", r.metric_lists, "metrics to print (bleu, chrf, ter), separated by commas; default: bleu,chrf");
  options.add("tokenize", r.bleu.tokenizer, kTokenizerHelp);
  options.add("smooth", r.bleu.smoothing, "BLEU's smoothing for n-grams without a match: exp, floor, add-k or none");
  options.add("smooth-value", r.smooth_value, "value for --smooth floor or --smooth add-k");
  options.describe_default("smooth-value", "0.1 for floor, 1 for add-k");
  options.add("lowercase", r.bleu.lower_case, "ignore case in BLEU and chrF (TER ignores case by default)");
  options.add("effective-order", r.bleu.effective_order,
              "leave out n-gram orders that exceed the length of the text, as is usual for single sentences");
  options.add("sentence-level", r.sentence_level,
              "print the scores of every sentence instead of the text's, one line per sentence and metric; BLEU with "
              "--effective-order");
  options.add("chrf-word-order", r.chrf.word_order, "maximum order of word n-grams in chrF: 0 = chrF2, 2 = chrF2++");
  options.add("ter-case-sensitive", r.ter.case_sensitive, "TER: distinguish upper case from lower case");
  options.add("ter-normalized", r.ter.normalized, "TER: first separate punctuation from words");
  options.add("ter-no-punct", r.ter.no_punct, "TER: remove punctuation");
  options.add("ter-asian-support", r.ter.asian_support,
              "TER: apply --ter-normalized and --ter-no-punct to Chinese and Japanese characters as well");
  options.add("confidence", r.confidence, "print the 95 % bootstrap confidence interval of each score");
  options.add("confidence-n", r.confidence_n, "number of resamples for --confidence");
  options.add("paired-bs", r.paired_bs, "test by bootstrap whether each system differs significantly from the first");
  options.add("paired-bs-n", r.paired_bs_n, "number of resamples for --paired-bs");
  options.add("paired-ar", r.paired_ar, "like --paired-bs, but uses approximate randomization instead of bootstrap");
  options.add("paired-ar-n", r.paired_ar_n, "number of trials for --paired-ar");
  options.add("seed", r.seed, "random seed of --confidence, --paired-bs and --paired-ar");
  options.add("width", r.width, "number of digits after the decimal point");
  options.add("corpus", r.corpora,
              "packed corpus on which the systems were trained; a warning tells if its audit found lines of the first "
              "reference in it (weft audit); repeat for more corpora");
  options.add("json", r.json,
              "print one JSON object with unrounded numbers; with --sentence-level, one per line and sentence");
  options.add("quiet", r.quiet, "print no progress");
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> parse_metrics(const std::vector<std::string>& lists) {
  std::vector<std::string> metrics;
  for (const std::string& list : lists)
    for (const std::string_view part : split(list, ',')) {
      const std::string name(part), nearest = nearest_name(name, kMetrics);
      if (!has(kMetrics, name))
        fail(ErrorKind::usage, fmt::format("metrics = '{}': there is no metric '{}'; {}", list, name,
                                           nearest.empty() ? "give any of bleu, chrf and ter, separated by commas"
                                                           : fmt::format("did you mean {}?", nearest)));
      if (!has(metrics, name)) metrics.push_back(name);
    }
  return metrics.empty() ? std::vector<std::string>{"bleu", "chrf"} : metrics;
}

void check_used(const Options& options, const BleuRequest& r) {
  const auto needs = [&](const char* option, bool is_used, const char* what) {
    if (options.given(option) && !is_used) fail(ErrorKind::usage, fmt::format("--{} needs {}", option, what));
  };
  const bool bleu = has(r.metrics, "bleu"), chrf = has(r.metrics, "chrf"), ter = has(r.metrics, "ter");
  for (const char* option : {"tokenize", "smooth", "smooth-value", "effective-order"})
    needs(option, bleu, "bleu among the --metrics");
  needs("chrf-word-order", chrf, "chrf among the --metrics");
  needs("lowercase", bleu || chrf, "bleu or chrf among the --metrics (TER ignores case by default)");
  for (const char* option : {"ter-case-sensitive", "ter-normalized", "ter-no-punct", "ter-asian-support"})
    needs(option, ter, "ter among the --metrics");
  if (r.bleu.lower_case && r.ter.case_sensitive)
    fail(ErrorKind::usage, "--lowercase ignores case, but --ter-case-sensitive does not: give only one of them");
  needs("ter-asian-support", r.ter.normalized || r.ter.no_punct, "--ter-normalized or --ter-no-punct");
  needs("confidence-n", r.confidence, "--confidence");
  needs("paired-bs-n", r.paired_bs, "--paired-bs");
  needs("paired-ar-n", r.paired_ar, "--paired-ar");
  needs("seed", r.confidence || r.paired_bs || r.paired_ar, "--confidence, --paired-bs or --paired-ar");
}

void check_sentence_level(const BleuRequest& r) {
  if (!r.sentence_level) return;
  if (r.hypothesis_files.size() > 1)
    fail(ErrorKind::usage, "--sentence-level scores one system: give one hypothesis file");
  if (r.confidence || r.paired_bs || r.paired_ar)
    fail(ErrorKind::usage,
         "--sentence-level cannot be combined with --confidence, --paired-bs and --paired-ar, which test whole texts");
}

void check_systems(const BleuRequest& r) {
  const auto num_standard_input = std::count(r.hypothesis_files.begin(), r.hypothesis_files.end(), "-") +
                                  std::count(r.reference_files.begin(), r.reference_files.end(), "-");
  if (num_standard_input + r.hypothesis_files.empty() > 1)
    fail(ErrorKind::usage, "standard input is given for several texts, but can be only one: give files for the others");
  for (size_t i = 0; i < r.hypothesis_files.size(); ++i) {
    const std::string& file = r.hypothesis_files[i];
    if (!r.metric_lists.empty() && has(kMetrics, file))
      fail(ErrorKind::usage, fmt::format("'{0}' is read as a file: write --metrics {1},{0} or, for a file, ./{0}", file,
                                         r.metric_lists.back()));
    if (std::find(r.hypothesis_files.begin(), r.hypothesis_files.begin() + i, file) != r.hypothesis_files.begin() + i)
      fail(ErrorKind::usage, fmt::format("the hypothesis file {} is given twice", file));
  }
  if ((r.paired_bs || r.paired_ar) && r.hypothesis_files.size() < 2)
    fail(ErrorKind::usage, "a paired test compares systems: give the baseline's file, then one or more other files");
  if (r.paired_bs && r.paired_ar) fail(ErrorKind::usage, "--paired-bs and --paired-ar cannot be combined");
  if (r.paired_bs && r.confidence)
    fail(ErrorKind::usage, "--paired-bs already prints confidence intervals of its resamples: leave out --confidence");
}

}  // namespace

bool parse_bleu_options(const std::vector<std::string>& args, BleuRequest& r) {
  Options options(
      "bleu --reference FILE [--reference FILE2 ...] [HYPOTHESIS ...] [options]\n\n"
      "Scores one or more translations of the same text by the rules of sacreBLEU.\n\n"
      "  weft bleu --reference test.de --paired-bs baseline.txt new.txt");
  describe(options, r);
  if (!options.parse(args)) return false;
  options.require("reference");
  r.metrics = parse_metrics(r.metric_lists);
  check_used(options, r);
  check_sentence_level(r);
  check_systems(r);
  if (r.chrf.word_order < 0 || r.chrf.word_order > ChrfOptions::kMaxWordOrder)
    fail(ErrorKind::usage, fmt::format("--chrf-word-order must be 0, 1 or 2, but is {}", r.chrf.word_order));
  if (r.width < 0 || r.width > 15) fail(ErrorKind::usage, fmt::format("--width must be 0 to 15, but is {}", r.width));
  for (const auto& [name, count] :
       {std::pair{"confidence-n", r.confidence_n}, {"paired-bs-n", r.paired_bs_n}, {"paired-ar-n", r.paired_ar_n}})
    if (count < 2 || count > kMaxSamples)
      fail(ErrorKind::usage, fmt::format("--{} is {}, but must be between 2 and {}", name, count, kMaxSamples));
  if (options.given("smooth-value")) {
    const bool applies = r.bleu.smoothing == BleuSmoothing::floor || r.bleu.smoothing == BleuSmoothing::add_k;
    if (!applies || r.smooth_value < 0)
      fail(ErrorKind::usage, "--smooth-value must be at least 0 and needs --smooth floor or --smooth add-k");
    r.bleu.smoothing_value = r.smooth_value;
  }
  r.chrf.lower_case = r.bleu.lower_case;
  r.bleu.effective_order |= r.sentence_level;
  return true;
}

}  // namespace weft
