// trainer/step/corpus_losses.cpp: sums the losses of each corpus's sentences.
#include "trainer/step/corpus_losses.h"

#include <algorithm>

#include "tensor/transfer.h"

namespace weft {

CorpusLosses::CorpusLosses(int64_t num_blocks, int64_t target_rows, Device device)
    : num_blocks_(num_blocks),
      rows_(target_rows),
      buffer_(static_cast<size_t>((num_blocks + 1) * target_rows) * sizeof(float), device) {}

void CorpusLosses::keep(Context& ctx, int64_t i) { copy(ctx, of_block(), row(i)); }

void CorpusLosses::add_to(std::vector<CorpusTotals>& totals, Context& ctx, const Step& step) const {
  const std::vector<float> nll = to_host<float>(ctx, buffer_.tensor({num_blocks_ * rows_}));
  for (size_t b = 0; b < step.blocks.size(); ++b) {
    const Block& block = step.blocks[b];
    for (size_t k = 0; k < block.pairs.size(); ++k) {
      const auto corpus = std::ranges::find(step.corpora, block.pairs[k].corpus, &StepCorpus::number);
      if (corpus == step.corpora.end()) continue;  // a synthetic step has no corpora
      CorpusTotals& total = totals[static_cast<size_t>(corpus - step.corpora.begin())];
      for (int32_t row = block.target_offsets[k]; row < block.target_offsets[k + 1]; ++row)
        total.nll += static_cast<double>(nll[b * static_cast<size_t>(rows_) + static_cast<size_t>(row)]);
      total.target_weight += block.target_weight(static_cast<int64_t>(k));
    }
  }
}

}  // namespace weft
