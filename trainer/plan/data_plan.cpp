// trainer/plan/data_plan.cpp: describes stages, corpora and validation sets.
#include "trainer/plan/data_plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "data/batch.h"
#include "tensor/error.h"
#include "trainer/display/units.h"
#include "trainer/plan/update_options.h"
#include "trainer/stages/mix_rates.h"

namespace weft {
namespace {

std::string describe_corpus(const MixCorpus& corpus) {
  const Manifest& m = corpus.manifest();
  const std::string text = fmt::format("{}: {} pairs{}, {} + {} tokens", corpus.folder, m.num_pairs,
                                       m.variants.count > 0 ? fmt::format(" in {} variants", m.variants.count) : "",
                                       format_count(static_cast<double>(m.source_rows())),
                                       format_count(static_cast<double>(m.target_rows())));
  if (!corpus.min_score) return text;
  return fmt::format("{}; {} pairs ({:.1f} %) have a score of at least {}", text, corpus.num_usable,
                     100 * static_cast<double>(corpus.num_usable) / static_cast<double>(m.num_pairs),
                     *corpus.min_score);
}

// Describes a stage's own schedule, and warns if the run ends before the stage starts.
std::string describe_course(const std::vector<Stage>& stages, size_t index, const RunConfig& c) {
  std::string text;
  if (stages[index].schedule)
    text = "; " + describe_schedule(*stages[index].schedule, steps_to_decay(stages, index, c.train.steps));
  for (size_t i = 0; i <= index; ++i)
    if (const std::optional<int64_t> before = steps_before(stages, i); before && *before >= c.train.steps)
      return text + fmt::format("; NEVER STARTS: train.steps = {} ends the run first", c.train.steps);
  return text;
}

// Blocks have the same shape in all stages, so one side is partly empty in a stage with a different length ratio.
std::string describe_fill(const MixRates& rates, const BatchConfig& batch) {
  const double ratio =
      rates.source / rates.target * static_cast<double>(batch.rows) / static_cast<double>(batch.source_rows);
  const double fill = std::min(ratio, 1 / ratio);
  if (fill > 0.98) return "";
  return fmt::format("; the {} rows of its blocks are at most {:.0f} % full (see batch.source_rows)",
                     ratio < 1 ? "source" : "target", 100 * fill);
}

double unknown_share(const std::vector<PairIds>& pairs, std::vector<int32_t> PairIds::*side) {
  int64_t unknown = 0, tokens = 0;
  for (const PairIds& pair : pairs) {
    unknown += std::ranges::count(pair.*side, SpecialIds::unk);
    tokens += std::ssize(pair.*side);
  }
  return static_cast<double>(unknown) / static_cast<double>(std::max<int64_t>(tokens, 1));
}

std::string unknown_warning(const std::string& folder, Corpus& corpus) {
  std::vector<PairIds> pairs;
  corpus.read_pairs(0, std::min<int64_t>(1000, corpus.num_pairs()), pairs);
  const double source = unknown_share(pairs, &PairIds::source), target = unknown_share(pairs, &PairIds::target);
  if (std::max(source, target) <= 0.001) return "";
  return fmt::format(
      "{}: {:.1f} % of the source tokens and {:.1f} % of the target tokens are unknown, because the "
      "tokenizer lacks their characters; the model cannot learn them (see docs/packing.md)",
      folder, 100 * source, 100 * target);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe_data(const ResolvedRun& run) {
  const RunConfig& c = run.config;
  const std::vector<Stage>& stages = run.stages;
  if (c.stages.empty() && stages[0].corpora.size() == 1) return {{"data", describe_corpus(stages[0].corpora[0])}};
  std::vector<std::pair<std::string, std::string>> rows;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    const MixRates rates(stage, c.batch);
    const std::string fill = describe_fill(rates, c.batch);
    if (!stage.name.empty())
      rows.emplace_back(i == 0 ? "data" : "",
                        fmt::format("stage {} of {}, {}: {}{}{}", i + 1, stages.size(), stage.name,
                                    describe_end(stage.end), describe_course(stages, i, c), fill));
    for (const MixCorpus& corpus : stage.corpora) {
      const double steps = rates.steps_per_epoch(corpus);
      rows.emplace_back(
          rows.empty() ? "data" : "",
          fmt::format("{}{:.1f} % of the pairs from {}; about {:.0f} step{} per epoch", stage.name.empty() ? "" : "  ",
                      100 * rates.share(corpus), describe_corpus(corpus), steps, std::lround(steps) == 1 ? "" : "s"));
    }
  }
  return rows;
}

std::string describe_epoch(const ResolvedRun& run) {
  const std::vector<Stage>& stages = run.stages;
  if (stages.size() > 1 || stages[0].corpora.size() > 1) return "";
  const MixCorpus& corpus = stages[0].corpora[0];
  const double steps = MixRates(stages[0], run.config.batch).steps_per_epoch(corpus);
  return fmt::format("; about {:.0f} steps per epoch", steps);
}

std::string describe_validation_sets(const std::vector<ValidationSet>& sets) {
  std::string text;
  for (const ValidationSet& set : sets)
    if (!set.name.empty())
      text += fmt::format("{}{} = {}{}: {} pairs", text.empty() ? "" : "; ", set.name, set.folder,
                          set.noise == TextNoise::none ? "" : fmt::format(" ({})", name_of_enum(set.noise)),
                          set.opened->num_pairs());
  return text;
}

std::vector<std::string> describe_unknown_tokens(const ResolvedRun& run) {
  std::map<std::string, Corpus*> corpora;
  for (const MixCorpus& corpus : run.stages.front().corpora) corpora[corpus.folder] = corpus.opened.get();
  for (const ValidationSet& set : run.valid) corpora[set.folder] = set.opened.get();
  std::vector<std::string> warnings;
  for (const auto& [folder, corpus] : corpora)
    if (const std::string warning = unknown_warning(folder, *corpus); !warning.empty()) warnings.push_back(warning);
  return warnings;
}

}  // namespace weft
