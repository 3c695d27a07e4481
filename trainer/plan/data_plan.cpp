// trainer/plan/data_plan.cpp: reads manifests; lengths only where a manifest leaves it open whether pairs fit.
#include "trainer/plan/data_plan.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "data/corpus.h"
#include "data/min_score.h"
#include "data/mix.h"
#include "tensor/error.h"
#include "trainer/plan/update_options.h"
#include "trainer/report/units.h"
#include "trainer/stages/stages.h"

namespace weft {
namespace {

bool has_a_pair_that_fits(Corpus& corpus, int64_t variant, std::optional<float> min_score, const BatchConfig& batch) {
  constexpr int64_t kChunk = 65536;
  const Manifest& m = corpus.manifest();
  if (!min_score && m.longest_source < batch.source_rows && m.longest_target < batch.rows) return true;
  const LengthSource read = lengths_of(corpus, min_score, [variant](int64_t) { return variant; });
  std::vector<PairLength> lengths;
  for (int64_t first = 0; first < m.num_pairs; first += kChunk) {
    read(/*visit=*/0, first, std::min(kChunk, m.num_pairs - first), lengths);
    if (std::ranges::any_of(lengths, [&](const PairLength& p) {
          return p.source >= 0 && p.source < batch.source_rows && p.target < batch.rows;
        }))
      return true;
  }
  return false;
}

int64_t pairs_of_epoch(const WeightedFolder& corpus) {
  return corpus.min_score ? num_passing(corpus.folder, *corpus.min_score) : read_manifest(corpus.folder).num_pairs;
}

std::string describe_corpus(const WeightedFolder& corpus) {
  const Manifest m = read_manifest(corpus.folder);
  const std::string text = fmt::format("{}: {} pairs{}, {} + {} tokens", corpus.folder, m.num_pairs,
                                       m.variants.count > 0 ? fmt::format(" in {} variants", m.variants.count) : "",
                                       format_count(static_cast<double>(m.source_rows())),
                                       format_count(static_cast<double>(m.target_rows())));
  if (!corpus.min_score) return text;
  const int64_t pairs = pairs_of_epoch(corpus);
  return fmt::format("{}; {} pairs ({:.1f} %) have a score of at least {}", text, pairs,
                     100 * static_cast<double>(pairs) / static_cast<double>(m.num_pairs), *corpus.min_score);
}

// Shares are of pairs: a block holds as many of a mean pair of the mix as fit.
struct MixRates {
  explicit MixRates(const Stage& stage, const BatchConfig& batch) {
    for (const WeightedFolder& corpus : stage.corpora) {
      const Manifest m = read_manifest(corpus.folder);
      const double pairs = static_cast<double>(m.num_pairs), w = static_cast<double>(corpus.weight);
      weights += w;
      source += w * static_cast<double>(m.source_rows()) / pairs;
      target += w * static_cast<double>(m.target_rows()) / pairs;
    }
    source /= weights, target /= weights;
    pairs_a_step = static_cast<double>(batch.blocks) *
                   std::min(static_cast<double>(batch.rows) / target, static_cast<double>(batch.source_rows) / source);
  }
  double weights = 0, source = 0, target = 0, pairs_a_step = 0;
};

// Of a stage: its own schedule, and whether the run ends before it.
std::string describe_course(const std::vector<Stage>& stages, size_t index, const RunConfig& c) {
  std::string text;
  if (stages[index].schedule)
    text = "; " + describe_schedule(*stages[index].schedule, steps_to_decay(stages, index, c.train.steps));
  for (size_t i = 0; i <= index; ++i)
    if (const std::optional<int64_t> before = steps_before(stages, i); before && *before >= c.train.steps)
      return text + fmt::format("; NEVER BEGINS: train.steps = {} ends the run before", c.train.steps);
  return text;
}

// Blocks have the same shape in all stages; in those of another ratio one side stays partly empty.
std::string describe_fill(const MixRates& rates, const BatchConfig& batch) {
  const double ratio =
      rates.source / rates.target * static_cast<double>(batch.rows) / static_cast<double>(batch.source_rows);
  const double fill = std::min(ratio, 1 / ratio);
  if (fill > 0.98) return "";
  return fmt::format("; {} rows of its blocks at most {:.0f} % full (batch.source_rows)",
                     ratio < 1 ? "source" : "target", 100 * fill);
}

}  // namespace

Manifest manifest_of(const std::string& option, const std::string& text, const std::string& folder) try {
  return read_manifest(folder);
} catch (const Error& e) {
  std::string hint;
  if (folder != text && !std::filesystem::exists(folder))
    hint =
        fmt::format(" (a part of '{}': write / after a folder whose name has a :, and link one whose name has a comma)",
                    printable(text));
  else if (folder.find_first_of(",=") != std::string::npos)
    hint = " (several sets need names of letters, digits, - and _: NAME=FOLDER,NAME=FOLDER)";
  fail(e.kind(), fmt::format("{}: {}{}", option, e.what(), hint));
}

void require_fit_corpora(const RunConfig& c) {
  const std::string first_folder = training_folders(c).front();
  std::optional<Manifest> first;
  const std::vector<Stage> stages = stages_of(c);
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const WeightedFolder& corpus : stages[i].corpora) {
      const bool is_stage = !c.stages.empty();
      const std::string& folder = corpus.folder;
      const std::string option = is_stage ? fmt::format("stage.{}.mix", stages[i].name) : "data.train";
      const Manifest m = manifest_of(option, is_stage ? c.stages[i].mix : c.data.train, folder);
      if (!first) first = m;
      if (m.num_pairs == 0)
        fail(ErrorKind::data,
             fmt::format("{} = {}: the corpus holds no pairs; pack one that does with `weft pack`", option, folder));
      if (m.source_tokenizer_sha256 != first->source_tokenizer_sha256 ||
          m.target_tokenizer_sha256 != first->target_tokenizer_sha256)
        fail(ErrorKind::usage,
             fmt::format("{}: {} was packed with another tokenizer than {}: pack it again with --tokenizer {}/{}",
                         option, folder, first_folder, first_folder, first->source_tokenizer));
    }
    require_distinct_corpora(stages[i].corpora);
  }
}

void require_pairs(const RunConfig& c) {
  for (const Stage& stage : stages_of(c))
    for (const WeightedFolder& used : stage.corpora) {
      Corpus corpus(used.folder);
      const std::string option = stage.name.empty() ? "data.min_score" : fmt::format("stage.{}.min_score", stage.name);
      if (used.min_score && !corpus.manifest().columns.score)
        fail(ErrorKind::usage, fmt::format("{}: {} was packed without scores: name the corpora that have some, as "
                                           "FOLDER:{}, or pack it again with --scores",
                                           option, used.folder, *used.min_score));
      int64_t variant = 0;
      while (variant < corpus.manifest().num_variants() &&
             has_a_pair_that_fits(corpus, variant, used.min_score, c.batch))
        ++variant;
      if (variant == corpus.manifest().num_variants()) continue;
      if (used.min_score && num_passing(used.folder, *used.min_score) == 0)
        fail(ErrorKind::data, fmt::format("{}: no pair of {} has a score of at least {}: give a lower one", option,
                                          used.folder, *used.min_score));
      fail(ErrorKind::data,
           fmt::format("{}: no pair{} fits a block of {} source and {} target rows; raise batch.rows", used.folder,
                       used.min_score ? " with this score" : "", c.batch.source_rows, c.batch.rows));
    }
}

void share_num_passing(const RunConfig& c, Communicator& world) {
  for (const Stage& stage : stages_of(c))
    for (const WeightedFolder& corpus : stage.corpora) {
      if (!corpus.min_score) continue;
      const std::string counted = all_or_none(world, [&] {
        return world.is_main_rank() ? std::to_string(num_passing(corpus.folder, *corpus.min_score)) : "";
      });
      const std::string known = world.broadcast_string(counted, /*root=*/0);
      tell_num_passing(corpus.folder, *corpus.min_score, std::stoll(known));
    }
}

int64_t source_rows_of_data(const RunConfig& c) {
  const Mix mix = Mix::of_folders(stages_of(c).front().corpora);
  return source_rows_for(mix, open_corpora(mix), c.batch.rows);
}

std::vector<std::pair<std::string, std::string>> describe_data(const RunConfig& c) {
  const std::vector<Stage> stages = stages_of(c);
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
    for (const WeightedFolder& corpus : stage.corpora) {
      const double share = static_cast<double>(corpus.weight) / rates.weights;
      const double steps = static_cast<double>(pairs_of_epoch(corpus)) / (share * rates.pairs_a_step);
      rows.emplace_back(
          rows.empty() ? "data" : "",
          fmt::format("{}{:.1f} % of the pairs from {}; about {:.0f} step{} an epoch", stage.name.empty() ? "" : "  ",
                      100 * share, describe_corpus(corpus), steps, std::lround(steps) == 1 ? "" : "s"));
    }
  }
  return rows;
}

std::string describe_epoch(const RunConfig& c) {
  const std::vector<Stage> stages = stages_of(c);
  if (stages.size() > 1 || stages[0].corpora.size() > 1) return "";
  const WeightedFolder& corpus = stages[0].corpora[0];
  const Manifest m = read_manifest(corpus.folder);
  const double used = static_cast<double>(pairs_of_epoch(corpus)) / static_cast<double>(m.num_pairs);
  return fmt::format("; about {:.0f} steps an epoch",
                     used * static_cast<double>(m.target_rows()) / static_cast<double>(c.batch.rows * c.batch.blocks));
}

}  // namespace weft
