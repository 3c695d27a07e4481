// model/decoding/ensemble.h: decodes with one model, or with the mean of several models with the same vocabularies.
//
// The mean is taken for each token, over models with equal weights: of probabilities, as in fairseq, or of their
// logarithms, as in eole. The mean of logarithms is not normalized again.
#pragma once

#include <memory>
#include <vector>

#include "model/decoding/slot_decoder.h"
#include "tensor/enum_names.h"

namespace weft {

enum class EnsembleMean : uint8_t { probability, log_probability };
constexpr EnumNames<EnsembleMean, 2> enum_names(EnsembleMean) {
  return {{{"probability", EnsembleMean::probability}, {"log-probability", EnsembleMean::log_probability}}};
}

// rows[m][id] is the log probability of token `id` by model m. REQUIRES: at least one row; all have the same size.
std::vector<double> mean_log_probs(const std::vector<std::vector<double>>& rows, EnsembleMean mean);

struct SearchModel {  // refers to objects that must outlive the search
  Context& ctx;
  const Transformer& model;
  const TensorParallel& tp;
};

// Has the functions of SlotDecoder (slot_decoder.h). REQUIRES: several models need whole rows.
class Ensemble {
 public:
  Ensemble(const std::vector<SearchModel>& models, const SlotDecoderShape& shape, const TokenRules& rules,
           EnsembleMean mean);

  const SlotDecoderShape& shape() const { return decoders_.front()->shape(); }
  size_t memory_bytes() const;
  std::vector<SlotDecoder::Rows> encode(const std::vector<const std::vector<int32_t>*>& sources, int64_t window);
  std::vector<SlotDecoder::Next> step(const std::vector<SlotDecoder::Slot>& slots);
  void copy_rows(const std::vector<int32_t>& from, const std::vector<int32_t>& to);

 private:
  std::vector<std::unique_ptr<SlotDecoder>> decoders_;
  EnsembleMean mean_;
};

}  // namespace weft
