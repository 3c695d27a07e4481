// trainer/plan/open_data.cpp: reads manifests, and the lengths of pairs if the manifest is not enough.
#include "trainer/plan/open_data.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "data/order/min_score.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kChunk = 65536;  // lengths read at once

// Opens a folder that `text`, the value of `option`, names. If this fails, the Error explains how to write a name with
// : , or = so that it is not parsed as several names, or as a name with a weight.
std::shared_ptr<Corpus> open_corpus(const std::string& option, const std::string& text, const std::string& folder) try {
  return std::make_shared<Corpus>(folder);
} catch (const Error& e) {
  std::string hint;
  if (folder != text && !std::filesystem::exists(folder))
    hint = fmt::format(
        " (part of '{}': if a folder's name contains a :, write / after it; if it contains a comma, use a link)",
        printable(text));
  else if (folder.find_first_of(",=") != std::string::npos)
    hint = " (for several sets, write NAME=FOLDER,NAME=FOLDER, with only letters, digits, - and _ in a NAME)";
  fail(e.kind(), fmt::format("{}: {}{}", option, e.what(), hint));
}

bool is_same_tokenizer(const Manifest& a, const Manifest& b) {
  return a.source_tokenizer_sha256 == b.source_tokenizer_sha256 &&
         a.target_tokenizer_sha256 == b.target_tokenizer_sha256;
}

void require_usable(const MixCorpus& corpus, const MixCorpus& first, const std::string& option) {
  if (corpus.num_pairs == 0)
    fail(ErrorKind::data,
         fmt::format("{} = {}: the corpus contains no pairs; pack it again with `weft pack`", option, corpus.folder));
  if (!is_same_tokenizer(corpus.manifest(), first.manifest()))
    fail(ErrorKind::usage,
         fmt::format("{}: {} was packed with a different tokenizer than {}: pack it again with --tokenizer {}", option,
                     corpus.folder, first.folder, first.folder));
}

void open_validation_set(const RunConfig& c, const MixCorpus& training, ValidationSet& set) {
  const std::string option = set.name.empty() ? "data.valid" : fmt::format("data.valid, set {}", set.name);
  set.opened = open_corpus(option, c.data.valid, set.folder);
  const Manifest& valid = set.opened->manifest();
  if (valid.variants.count > 0)
    fail(ErrorKind::usage,
         fmt::format("{}: {} has {} variants per pair, but a validation set must have only one: pack it again "
                     "without --variants",
                     option, set.folder, valid.variants.count));
  if (is_same_tokenizer(valid, training.manifest())) return;
  fail(ErrorKind::usage,
       fmt::format("{}: {} was packed with a different tokenizer than the training data in {}: pack it again with "
                   "--tokenizer {}/{}",
                   option, set.folder, training.folder, training.folder, training.manifest().source_tokenizer));
}

bool fits(const Manifest& m, const BatchConfig& batch) {
  return m.longest_source < batch.source_rows && m.longest_target < batch.rows;
}

bool has_a_pair_that_fits(const MixCorpus& used, int64_t variant, const BatchConfig& batch) {
  const Manifest& m = used.manifest();
  if (!used.min_score && fits(m, batch)) return true;
  const LengthSource read = lengths_of(*used.opened, used.min_score, [variant](int64_t) { return variant; });
  std::vector<PairLength> lengths;
  for (int64_t first = 0; first < m.num_pairs; first += kChunk) {
    read(/*epoch=*/0, first, std::min(kChunk, m.num_pairs - first), lengths);
    if (std::ranges::any_of(lengths, [&](const PairLength& p) {
          return p.source >= 0 && p.source < batch.source_rows && p.target < batch.rows;
        }))
      return true;
  }
  return false;
}

void require_a_pair(const MixCorpus& used, const std::string& option, const BatchConfig& batch) {
  const Manifest& m = used.manifest();
  if (used.min_score && !m.columns.score)
    fail(ErrorKind::usage, fmt::format("{}: {} was packed without scores: set the minimum only for corpora with "
                                       "scores (FOLDER:{}), or pack this corpus again with --scores",
                                       option, used.folder, *used.min_score));
  int64_t variant = 0;
  while (variant < m.num_variants() && has_a_pair_that_fits(used, variant, batch)) ++variant;
  if (variant == m.num_variants()) return;
  if (used.min_score && count_usable(*used.opened, *used.min_score) == 0)
    fail(ErrorKind::data, fmt::format("{}: no pair of {} has a score of at least {}: lower the minimum", option,
                                      used.folder, *used.min_score));
  fail(ErrorKind::data,
       fmt::format("{}: no pair{} fits into a block of {} source and {} target rows: raise batch.rows", used.folder,
                   used.min_score ? " with this score" : "", batch.source_rows, batch.rows));
}

// Returns the rows of the longest sentence that blocks will contain. Pairs that do not fit into a block are left out.
int64_t longest_used(Corpus& corpus, const BatchConfig& batch) {
  int64_t longest = 0;
  std::vector<PairLength> lengths;
  for (int64_t variant = 0; variant < corpus.manifest().num_variants(); ++variant)
    for (int64_t first = 0; first < corpus.num_pairs(); first += kChunk) {
      corpus.read_lengths(first, std::min(kChunk, corpus.num_pairs() - first), lengths, variant);
      for (const PairLength& p : lengths)
        if (p.source < batch.source_rows && p.target < batch.rows)
          longest = std::max<int64_t>(longest, std::max(p.source, p.target) + 1);
    }
  return longest;
}

void require_positions_of(Corpus& corpus, const RunConfig& c) {
  const Manifest& m = corpus.manifest();
  if (std::max(m.longest_source, m.longest_target) < c.model.max_positions) return;
  if (const int64_t longest = longest_used(corpus, c.batch); longest > c.model.max_positions)
    fail(ErrorKind::usage,
         fmt::format("{} contains a sentence of {} tokens, including eos, but model.max_positions = {}: raise this "
                     "option, or pack again with --max-length {}",
                     corpus.folder(), longest, c.model.max_positions, c.model.max_positions - 1));
}

}  // namespace

void open_training_corpora(const RunConfig& c, std::vector<Stage>& stages) {
  std::map<std::string, std::shared_ptr<Corpus>> opened;  // by folder
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool is_stage = !stages[i].name.empty();
    const std::string option = is_stage ? fmt::format("stage.{}.mix", stages[i].name) : "data.train";
    for (MixCorpus& corpus : stages[i].corpora) {
      std::shared_ptr<Corpus>& found = opened[corpus.folder];
      if (!found) found = open_corpus(option, is_stage ? c.stages[i].mix : c.data.train, corpus.folder);
      corpus.opened = found;
      corpus.num_pairs = corpus.num_usable = found->num_pairs();
      require_usable(corpus, stages.front().corpora.front(), option);
    }
    require_distinct_corpora(stages[i].corpora);
  }
}

void open_validation_sets(const RunConfig& c, const MixCorpus& training, std::vector<ValidationSet>& sets) {
  for (ValidationSet& set : sets) open_validation_set(c, training, set);
}

void require_pairs(const RunConfig& c, const std::vector<Stage>& stages) {
  for (const Stage& stage : stages) {
    const std::string option = stage.name.empty() ? "data.min_score" : fmt::format("stage.{}.min_score", stage.name);
    for (const MixCorpus& corpus : stage.corpora) require_a_pair(corpus, option, c.batch);
  }
}

void require_all_pairs_fit(const std::vector<ValidationSet>& sets, const BatchConfig& batch) {
  for (const ValidationSet& set : sets)
    if (const Manifest& m = set.opened->manifest(); !fits(m, batch))
      fail(ErrorKind::usage,
           fmt::format("data.valid: {} has pairs of up to {} x {} tokens (source x target), but a block holds only "
                       "{} x {} rows, and validation cannot skip pairs: raise batch.rows and batch.source_rows",
                       set.folder, m.longest_source, m.longest_target, batch.source_rows, batch.rows));
}

double share_too_long(Corpus& corpus, const BatchConfig& batch) {
  if (fits(corpus.manifest(), batch)) return 0;
  std::vector<PairLength> lengths;
  corpus.read_lengths(0, std::min(kChunk, corpus.num_pairs()), lengths, /*variant=*/0);
  const auto too_long = std::ranges::count_if(
      lengths, [&](const PairLength& p) { return p.source >= batch.source_rows || p.target >= batch.rows; });
  return static_cast<double>(too_long) / static_cast<double>(lengths.size());
}

void require_positions(const RunConfig& c, const std::vector<Stage>& stages, const std::vector<ValidationSet>& sets) {
  if (c.model.positions != Positions::learned) return;
  for (const Stage& stage : stages)
    for (const MixCorpus& corpus : stage.corpora) require_positions_of(*corpus.opened, c);
  for (const ValidationSet& set : sets) require_positions_of(*set.opened, c);
}

void count_usable_pairs(std::vector<Stage>& stages, Communicator& world) {
  for (Stage& stage : stages)
    for (MixCorpus& corpus : stage.corpora) {
      if (!corpus.min_score) continue;
      const int64_t counted = all_or_none(
          world, [&] { return world.is_main_rank() ? count_usable(*corpus.opened, *corpus.min_score) : 0; });
      corpus.num_usable = std::stoll(world.broadcast_string(std::to_string(counted), /*root=*/0));
    }
}

}  // namespace weft
