// trainer/validation/validation.cpp: computes losses and translations of the validation sets.
#include "trainer/validation/validation.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "data/corpus.h"
#include "data/loader.h"
#include "trainer/validation/noisy_set.h"

namespace weft {

struct Validation::Set {
  std::string name;
  std::vector<Block> blocks;  // blocks of this dp rank
  HeldOutSet held_out;        // empty if BLEU is off
  Samples samples;
};

Validation::Validation(const RunConfig& config, const std::vector<ValidationSet>& sets, const Mesh& mesh,
                       Trainer& trainer)
    : config_(config), mesh_(mesh), trainer_(trainer), losses_(mesh.device()) {
  const bool translates = config.train.validate_bleu != 0;
  const auto is_noisy = [](const ValidationSet& set) { return set.noise != TextNoise::none; };
  if (translates || std::ranges::any_of(sets, is_noisy)) {  // all sets have the same tokenizers
    const std::string& folder = sets.front().folder;
    read_tokenizers(folder, sets.front().opened->manifest());  // throws an Error if one is damaged
    tokenizers_ = load_tokenizers(folder);
  }
  if (translates) {
    trainer.replica().params().reserve_inference_copies();
    translator_ =
        std::make_unique<Translator>(trainer.replica(), *tokenizers_.source, *tokenizers_.target, config.decode);
  }
  for (const ValidationSet& set : sets) {
    auto own = std::make_unique<Set>();
    own->name = set.name;
    if (translates) own->held_out = read_held_out(*set.opened, *tokenizers_.target, config.train.validate_bleu);
    if (is_noisy(set)) {
      read_noisy(set, *own);
    } else {
      own->blocks = load_all_blocks(*set.opened, config.batch, mesh.dp().rank(), mesh.dp().size());
    }
    if (translates) {
      own->samples = Samples(config.train.samples, own->held_out, tokenizers_, trainer);
    }
    sets_.push_back(std::move(own));
  }
}

Validation::~Validation() = default;

void Validation::read_noisy(const ValidationSet& set, Set& own) {
  const BlockShape shape{.source_rows = config_.batch.source_rows,
                         .rows = config_.batch.rows,
                         .max_positions = trainer_.replica().model().max_positions()};
  NoisySet noisy =
      read_noisy_set(*set.opened, set.noise, *tokenizers_.source, shape, mesh_.dp().rank(), mesh_.dp().size());
  own.blocks = std::move(noisy.blocks);
  if (noisy.num_cut > 0)
    remarks_.push_back(fmt::format(
        "validation set {}: {} of {} source sentences were truncated to {} tokens to fit a block (batch.source_rows)",
        set.name, noisy.num_cut, noisy.sources.size(), noisy.longest));
  noisy.sources.resize(own.held_out.sources.size());
  own.held_out.sources = std::move(noisy.sources);
}

std::map<std::string, double> ValidationReport::numbers() const {
  std::map<std::string, double> all;
  for (const auto& [key, value] : sets.front().values) all[key] = value;
  for (const SetReport& set : sets)
    for (const auto& [key, value] : set.values) all[validation_key(set.name, key)] = value;
  return all;
}

bool note_score(const std::map<std::string, double>& numbers, int64_t step, const BestRule& rule, int64_t keep,
                BestScore& best) {
  const std::optional<double> value = rule.value([&](const std::string& key) {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  });
  if (!value) return false;
  if (best.metric != rule.text()) {
    best = {.metric = rule.text(), .value = *value, .step = step};
  } else if (best.kept.emplace(best.step, best.value); *value > best.value) {
    best.value = *value, best.step = step, best.stale = 0;
  } else {
    ++best.stale;
  }
  best.kept[step] = *value;
  while (std::ssize(best.kept) > keep)  // removes the earlier of equal values, but never the best
    best.kept.erase(std::ranges::min_element(best.kept, {}, [&](const auto& entry) {
      return std::tuple(entry.first == best.step, entry.second, entry.first);
    }));
  return best.kept.contains(step);
}

bool Validation::due(int64_t step, bool last) const {
  const int64_t every = config_.train.validate_every;
  return every > 0 && step != done_ && (last || step % every == 0);
}

std::optional<ValidationReport> Validation::run(int64_t step, const std::function<bool()>& stop) {
  const auto weights = trainer_.evaluation_weights();  // in use until the end of this function
  ValidationReport report{.step = step, .sets = {}, .samples = {}, .attention = {}, .texts = {}};
  for (const auto& set : sets_) {
    if (stop()) return std::nullopt;
    Pass p = trainer_.pass(/*training=*/false);
    const LossSums sums =
        validation_loss(p, trainer_.replica().model(), set->blocks, config_.train.label_smoothing, losses_, mesh_.dp());
    if (!std::isfinite(sums.nll()))
      fail(ErrorKind::diverged, fmt::format("step {}: the model has diverged, because its loss on {} is {}", step,
                                            set->name.empty() ? "the validation set" : set->name, sums.nll()));
    report.sets.push_back({.name = set->name, .values = {{"valid_loss", sums.loss()}, {"valid_nll", sums.nll()}}});
    if (translator_ && !translate(*set, stop, report)) return std::nullopt;
  }
  done_ = step;
  return report;
}

SetTexts Validation::texts_of(const Set& set, const std::vector<Translation>& translations) const {
  SetTexts texts{.set = set.name, .sources = {}, .hypotheses = {}, .references = set.held_out.references};
  for (const std::vector<int32_t>& source : set.held_out.sources)
    texts.sources.push_back(tokenizers_.source->decode(source));
  for (const Translation& translation : translations) texts.hypotheses.push_back(translation.text);
  return texts;
}

// Returns false if stop() has ended the translation.
bool Validation::translate(Set& set, const std::function<bool()>& stop, ValidationReport& report) {
  const bool all = !config_.train.validate_command.empty();
  // With the copies, products round as in `weft evaluate`, so that both print the same BLEU.
  const InferenceCopies copies(trainer_.replica().context(), trainer_.replica().params());
  std::vector<Translation> translations(all ? set.held_out.sources.size() : set.samples.size());
  const auto scores = evaluate(*translator_, set.held_out, config_.train.bleu_tokenize, mesh_.dp(), stop, translations);
  if (!scores) return false;
  report.sets.back().values.insert(
      {{"bleu", scores->bleu.score}, {"chrf", scores->chrf.score}, {"length_ratio", scores->bleu.ratio}});
  report.sets.back().bleu_signature = scores->bleu.signature;
  const bool is_first = report.sets.size() == 1;
  for (SampleText& text : set.samples.texts(translations, is_first ? "" : set.name))
    report.samples.push_back(std::move(text));
  if (is_first) report.attention = set.samples.attention(translations);
  if (all) report.texts.push_back(texts_of(set, translations));
  return true;
}

}  // namespace weft
