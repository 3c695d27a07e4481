// trainer/export/marian.h: exports a model as a folder for Marian: model.npz, SentencePiece models and decoder.yml.
//
// Marian's decoder starts with a vector of zeros where ours has the embedding of bos. Let c be that embedding, scaled.
// The target table is exported with the embedding of bos subtracted from each row, so the decoder's input x lacks c at
// every position. The first self-attention's biases add it again: W (x + c) + b = W x + (W c + b) for queries, keys and
// values, and the bias of the last projection adds c to the residual sum. So the model is exact, but source, target and
// output tables are no longer tied.
//
// Marian's layer norm has eps = 1e-6, ours 1e-5. A norm gives the same for x and a x if its eps is a^2 times the
// other's, so all norms' outputs and all residual sums are exported a = sqrt(0.1) times as large as ours. The first
// residual sum of encoder and decoder cannot be scaled because it contains Marian's sinusoids; there the other eps
// remains.
#pragma once

#include "trainer/export/exported_model.h"

namespace weft {

// Throws an Error of kind usage that names the option if Marian does not support the model.
void require_marian_model(const ModelConfig& config);
void export_marian(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
