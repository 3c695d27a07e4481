// trainer/export/huggingface.h: exports a model as a folder for Hugging Face's transformers.
//
// A post-norm model without final norms becomes a MarianMTModel, and a pre-norm model with final norms becomes a
// PegasusForConditionalGeneration. Both use MarianTokenizer, which reads SentencePiece models. Both classes compute
// sinusoids in the layout `halves`, from position 0. The export of an `interleaved` model therefore reorders every
// dimension of the model's width. Norms and residual sums do not depend on the order.
//
// Both classes need a vocabulary entry for padding, which Weft does not have. The export adds this entry with an
// embedding of zeros and an output bias that makes its probability 0.
#pragma once

#include "trainer/export/exported_model.h"

namespace weft {

// Throws an Error of kind usage that names the unsupported option if neither class supports the model.
void require_huggingface_model(const ModelConfig& config);
void export_huggingface(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
