// model/decoding/ensemble.cpp: lets every model compute the same step, and combines their predictions.
#include "model/decoding/ensemble.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace weft {

std::vector<double> mean_log_probs(const std::vector<std::vector<double>>& rows, EnsembleMean mean) {
  const auto count = static_cast<double>(rows.size());
  std::vector<double> result(rows.front().size());
  for (size_t id = 0; id < result.size(); ++id) {
    double sum = 0;
    if (mean == EnsembleMean::log_probability) {
      for (const std::vector<double>& row : rows) sum += row[id];
      result[id] = sum / count;
      continue;
    }
    double highest = rows.front()[id];
    for (const std::vector<double>& row : rows) highest = std::max(highest, row[id]);
    for (const std::vector<double>& row : rows) sum += std::exp(row[id] - highest);
    result[id] = highest + std::log(sum / count);
  }
  return result;
}

Ensemble::Ensemble(const std::vector<SearchModel>& models, const SlotDecoderShape& shape, const TokenRules& rules,
                   EnsembleMean mean)
    : mean_(mean) {
  assert(models.size() == 1 || shape.whole_rows);
  for (const SearchModel& m : models)
    decoders_.push_back(std::make_unique<SlotDecoder>(m.ctx, m.model, m.tp, shape, rules));
}

size_t Ensemble::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& decoder : decoders_) bytes += decoder->memory_bytes();
  return bytes;
}

std::vector<SlotDecoder::Rows> Ensemble::encode(const std::vector<const std::vector<int32_t>*>& sources,
                                                int64_t window) {
  std::vector<SlotDecoder::Rows> rows;  // those of all models are the same
  for (const auto& decoder : decoders_) rows = decoder->encode(sources, window);
  return rows;
}

std::vector<SlotDecoder::Next> Ensemble::step(const std::vector<SlotDecoder::Slot>& slots) {
  std::vector<SlotDecoder::Next> next = decoders_.front()->step(slots);
  if (decoders_.size() == 1) return next;
  std::vector<std::vector<SlotDecoder::Next>> others;
  for (size_t m = 1; m < decoders_.size(); ++m) others.push_back(decoders_[m]->step(slots));
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i].log_probs.empty()) continue;  // idle
    std::vector<std::vector<double>> rows{std::move(next[i].log_probs)};
    for (std::vector<SlotDecoder::Next>& other : others) rows.push_back(std::move(other[i].log_probs));
    next[i].log_probs = mean_log_probs(rows, mean_);
    next[i].end = next[i].log_probs[SpecialIds::eos];
  }
  return next;
}

void Ensemble::copy_rows(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
  for (const auto& decoder : decoders_) decoder->copy_rows(from, to);
}

}  // namespace weft
