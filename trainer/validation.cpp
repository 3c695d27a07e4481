// trainer/validation.cpp: loss and translations of the validation set.
#include "trainer/validation.h"

namespace weft {

Validation::Validation(const RunConfig& config, const Mesh& mesh, Trainer& trainer)
    : config_(config),
      mesh_(mesh),
      trainer_(trainer),
      losses_(mesh.device()),
      blocks_(load_all_blocks(config.data.valid, config.batch, mesh.dp().rank(), mesh.dp().size())) {
  if (config.train.validate_bleu == 0) return;
  tokenizers_ = load_tokenizers(config.data.valid);
  held_out_ = read_held_out(config.data.valid, *tokenizers_.target, config.train.validate_bleu);
  translator_ = std::make_unique<Translator>(trainer.context(), trainer.model(), trainer.tensor_parallel(), mesh,
                                             *tokenizers_.source, *tokenizers_.target, config.decode);
}

ValidationReport Validation::run() {
  Pass p = trainer_.pass(/*block=*/0, /*training=*/false);
  const LossSums sums =
      validation_loss(p, trainer_.model(), blocks_, config_.train.label_smoothing, losses_, mesh_.dp());
  ValidationReport report{.loss = sums.loss(), .nll = sums.nll()};
  if (translator_) report.translation = evaluate(*translator_, held_out_);
  return report;
}

}  // namespace weft
