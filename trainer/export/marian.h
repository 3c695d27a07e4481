// trainer/export/marian.h: exports a model as a folder for Marian: model.npz, SentencePiece models and decoder.yml.
//
// The input of Marian's decoder starts with a vector of zeros, as Weft's with model.start_token = zero. Otherwise
// Weft's starts with the embedding of bos or eos. Let c be this embedding after scaling. In the exported target table,
// c is subtracted from each row, so the decoder's input x lacks c at every position. The biases of the first
// self-attention add c again: W (x + c) + b = W x + (W c + b) for queries, keys and values, and the output projection's
// bias adds c to the residual sum. Thus the model is exact, but the source, target and output tables are no longer
// tied. Only a model with start_token = zero, norm_eps = 1e-6 and scaled embeddings is exported unchanged.
//
// Marian's layer norm uses eps = 1e-6, but Weft's usual eps is 1e-5. The norm of a x with a^2 eps equals the norm of x
// with eps, so the export scales the outputs of norms and the residual sums by a = sqrt(1e-6 / eps). The first residual
// sums of encoder and decoder cannot be scaled, because they contain Marian's sinusoids. For these sums, eps remains
// different.
#pragma once

#include "trainer/export/exported_model.h"

namespace weft {

// Throws an Error of kind usage that names the option if Marian does not support the model.
void require_marian_model(const ModelConfig& config);
void export_marian(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
