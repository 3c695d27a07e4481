// trainer/run/validation.cpp: computes loss and translations of the validation set.
#include "trainer/run/validation.h"

#include "data/corpus.h"

namespace weft {

Validation::Validation(const RunConfig& config, const Mesh& mesh, Trainer& trainer)
    : config_(config),
      mesh_(mesh),
      trainer_(trainer),
      losses_(mesh.device()),
      blocks_(load_all_blocks(config.data.valid, config.batch, mesh.dp().rank(), mesh.dp().size())) {
  if (config.train.validate_bleu == 0) return;
  read_tokenizers(config.data.valid, read_manifest(config.data.valid));  // refuses damaged ones
  tokenizers_ = load_tokenizers(config.data.valid);
  held_out_ = read_held_out(config.data.valid, *tokenizers_.target, config.train.validate_bleu);
  translator_ =
      std::make_unique<Translator>(trainer.replica(), *tokenizers_.source, *tokenizers_.target, config.decode);
}

bool note_score(const ValidationReport& report, BestMetric metric, BestScore& best) {
  const bool by_bleu = metric == BestMetric::bleu;
  const char* const name = by_bleu ? "bleu" : "loss";
  const double value = by_bleu ? report.translation->bleu.score : -report.loss;
  const bool is_best = best.metric != name || value > best.value;
  if (is_best) {
    best = {.metric = name, .value = value, .step = report.step, .stale = 0};
  } else {
    ++best.stale;
  }
  return is_best;
}

bool Validation::due(int64_t step, bool last) const {
  const int64_t every = config_.train.validate_every;
  return every > 0 && step != done_ && (last || step % every == 0);
}

std::optional<ValidationReport> Validation::run(int64_t step, const std::function<bool()>& stop) {
  if (stop()) return std::nullopt;
  const auto weights = trainer_.evaluation_weights();  // until the end of the validation
  Pass p = trainer_.pass(/*training=*/false);
  const LossSums sums =
      validation_loss(p, trainer_.replica().model(), blocks_, config_.train.label_smoothing, losses_, mesh_.dp());
  ValidationReport report{.step = step, .loss = sums.loss(), .nll = sums.nll()};
  if (translator_) {
    report.translation = evaluate(*translator_, held_out_, mesh_.dp(), stop);
    if (!report.translation) return std::nullopt;
  }
  done_ = step;
  return report;
}

}  // namespace weft
