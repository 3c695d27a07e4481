// launch/commands/bleu.cpp: `weft bleu` computes BLEU, chrF and TER, confidence intervals and paired tests.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "data/audit/audit.h"
#include "data/shards/manifest.h"
#include "launch/commands.h"
#include "launch/options/bleu_options.h"
#include "launch/reports/audit_report.h"
#include "launch/reports/bleu_report.h"
#include "launch/reports/metric.h"
#include "launch/reports/scored_lines.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"
#include "trainer/metrics/significance.h"

namespace weft {
namespace {

struct ScoredTexts {
  std::vector<std::string> names;                    // files of the hypotheses
  std::vector<std::vector<std::string>> hypotheses;  // [system][segment]
  std::vector<std::vector<std::string>> references;  // [reference][segment]
};

ScoredTexts read(const BleuRequest& r) {
  ScoredTexts set{.names = r.hypothesis_files};
  if (set.names.empty()) set.names.push_back(kStandardInput);
  for (const std::string& file : set.names) set.hypotheses.push_back(read_scored_file(file));
  for (const std::string& file : r.reference_files) {
    set.references.push_back(read_scored_file(file));
    for (size_t s = 0; s < set.names.size(); ++s)
      if (set.references.back().size() != set.hypotheses[s].size())
        fail(ErrorKind::data, fmt::format("{} has {} lines, but {} has {}: line i of both must belong to sentence i",
                                          set.names[s], set.hypotheses[s].size(), file, set.references.back().size()));
  }
  return set;
}

// Prints no progress in the first second, because the work often takes less time.
ProgressOutput patient_output(bool quiet) {
  ProgressOutput out = ProgressOutput::standard(quiet);
  out.write = [write = out.write, seconds = out.seconds, begin = out.seconds()](std::string_view text) {
    if (seconds() - begin >= 1) write(text);
  };
  return out;
}

Metric make_metric(const std::string& name, const BleuRequest& r) {
  const int num_references = static_cast<int>(r.reference_files.size());
  if (name == "bleu") return bleu_metric(r.bleu, num_references);
  if (name == "chrf") return chrf_metric(r.chrf, num_references);
  return ter_metric(r.ter, num_references);
}

SystemStats score_segments(const Metric& metric, const ScoredTexts& set, bool quiet) {
  const size_t num_segments = set.references[0].size();
  ProgressBar bar("scoring " + metric.name, "sentences", static_cast<int64_t>(set.names.size() * num_segments),
                  patient_output(quiet));
  int64_t num_done = 0;
  SystemStats stats{.score = metric.score};
  for (const auto& hypotheses : set.hypotheses)
    stats.systems.push_back(segment_stats(metric, hypotheses, set.references, [&] { bar.update(++num_done); }));
  return stats;
}

std::vector<SystemResult> test(const Metric& metric, const SystemStats& stats, const BleuRequest& r) {
  using Test = std::vector<SystemResult> (*)(const SystemStats&, const Resampling&);
  const auto run = [&](Test test, const char* title, int64_t count) {
    ProgressBar bar(fmt::format("{} {}", title, metric.name), "resamples", count, patient_output(r.quiet));
    return test(stats, {.count = count, .seed = r.seed, .progress = [&](int64_t done) { bar.update(done); }});
  };
  if (r.paired_bs) return run(paired_bootstrap, "resampling", r.paired_bs_n);
  std::vector<SystemResult> results(stats.systems.size());
  if (r.confidence) results = run(bootstrap_intervals, "resampling", r.confidence_n);
  if (r.paired_ar) {
    const std::vector<SystemResult> randomised = run(paired_randomisation, "randomizing", r.paired_ar_n);
    for (size_t s = 0; s < results.size(); ++s) results[s].p_value = randomised[s].p_value;
  }
  return results;
}

void print_sentences(const ScoredTexts& set, const BleuRequest& r) {
  std::vector<SentenceScores> metrics;
  for (const std::string& name : r.metrics) {
    const Metric metric = make_metric(name, r);
    metrics.push_back({.metric = metric, .stats = score_segments(metric, set, r.quiet).systems[0]});
  }
  fmt::print("{}", r.json ? sentences_to_json_lines(metrics) : sentences_to_text(metrics, static_cast<int>(r.width)));
}

}  // namespace

int run_bleu(const CommandContext& context) {
  BleuRequest r;
  if (!parse_bleu_options(context.args, r)) return 0;
  require_tokenizer(r.bleu.tokenizer);
  const ScoredTexts set = read(r);
  for (const std::string& folder : r.corpora) read_manifest(folder);  // fails unless it is a corpus
  warn_of_leaks(r.reference_files.front(), {"", digest_of(set.references[0])}, r.corpora);
  r.bleu.tokenizer = chosen_tokenizer(r.bleu.tokenizer, set.references[0]);
  if (r.sentence_level) {
    print_sentences(set, r);
    return 0;
  }
  BleuReport report{.systems = set.names,
                    .num_segments = std::ssize(set.references[0]),
                    .num_trials = r.paired_bs ? r.paired_bs_n : r.paired_ar_n,
                    .num_resamples = r.paired_bs    ? r.paired_bs_n
                                     : r.confidence ? r.confidence_n
                                                    : 0,
                    .seed = r.seed};
  if (r.paired_bs) report.test = PairedTest::bootstrap;
  if (r.paired_ar) report.test = PairedTest::randomisation;
  for (const std::string& name : r.metrics) {
    MetricReport m{.metric = make_metric(name, r)};
    const SystemStats stats = score_segments(m.metric, set, r.quiet);
    m.results = test(m.metric, stats, r);
    for (size_t s = 0; s < stats.systems.size(); ++s) {
      m.sums.push_back(sum_of_segments(stats.systems[s]));
      m.results[s].score = m.metric.score(m.sums[s]);
    }
    report.metrics.push_back(std::move(m));
  }
  fmt::print("{}", r.json ? to_json_text(report) + "\n" : to_text(report, static_cast<int>(r.width)));
  return 0;
}

}  // namespace weft
