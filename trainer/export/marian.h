// trainer/export/marian.h: a model as a folder for Marian: model.npz, SentencePiece models and decoder.yml.
//
// Marian's decoder begins with a vector of zeros where ours has the embedding of bos. Let c be that embedding, scaled.
// The target table is exported with the embedding of bos subtracted from each row, so that the decoder's input x lacks
// c at every position alike. The first self-attention's biases add it again: W (x + c) + b = W x + (W c + b) for
// queries, keys and values, and the residual sum gets c by the bias of the last projection. So the model is exact, but
// source, target and output tables are no longer tied.
//
// Marian's layer norm has eps = 1e-6, ours 1e-5. A norm gives the same for x and a x if its eps is a^2 times the
// other's, so that all norms' outputs and all residual sums are exported a = sqrt(0.1) times as large as ours. The
// first residual sum of encoder and decoder cannot be: it has Marian's sinusoids. There the other eps stays.
#pragma once

#include "trainer/export/exported_model.h"

namespace weft {

// An Error of kind usage that names the option if Marian cannot hold the model.
void require_marian_model(const ModelConfig& config);
void export_marian(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
