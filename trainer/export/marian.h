// trainer/export/marian.h: a model as a folder for Marian: model.npz, SentencePiece models and decoder.yml.
//
// Marian's decoder begins with a vector of zeros where ours has the embedding of bos. Let c be that embedding, scaled.
// The target table is exported with the embedding of bos subtracted from each row, so that the decoder's input x lacks
// c at every position alike. The first self-attention's biases add it again: W (x + c) + b = W x + (W c + b) for
// queries, keys and values, and the residual sum gets c by the bias of the last projection. So the model is exact, but
// source, target and output tables are no longer tied.
#pragma once

#include "trainer/export/exported_model.h"
#include "trainer/export/output_folder.h"

namespace weft {

// An Error of kind usage that names the option if Marian cannot hold the model.
void require_marian_model(const ModelConfig& config);
void export_marian(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
