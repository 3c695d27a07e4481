// trainer/validation/samples.cpp: collects the texts of the samples, and runs the model once for the attention picture.
#include "trainer/validation/samples.h"

#include <algorithm>

#include "data/tags.h"
#include "trainer/inference/pair_blocks.h"

namespace weft {
namespace {

constexpr int64_t kMaxTokens = 47;  // maximum per side of the picture, without eos

// Returns y [rows, rows] in the arena.
Tensor attend(Pass& p, const Transformer& model, const Block& block, int64_t rows) {
  const DeviceBatch batch = model.load(p, block);
  const Tensor y = p.arena.tensor({rows, rows});
  model.cross_attention(p, batch, {.layer = model.config().decoder_layers - 1, .head = -1}, y);
  return y;
}

std::vector<std::string> pieces(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  std::vector<std::string> all;
  for (const int32_t id : ids) all.push_back(tokenizer.piece(id));
  all.push_back(tokenizer.piece(SpecialIds::eos));
  return all;
}

}  // namespace

Samples::Samples(int64_t count, const HeldOutSet& set, const Tokenizers& tokenizers, Trainer& trainer)
    : set_(&set),
      tokenizers_(&tokenizers),
      trainer_(&trainer),
      count_(std::min(static_cast<size_t>(count), set.sources.size())) {
  const int64_t tp = trainer.replica().tp().size();  // tp may split the rows, so it must divide their number
  rows_ = std::min(kMaxTokens + 1, trainer.replica().model().max_positions()) / tp * tp;
  for (size_t i = 0; i < count_ && !pictured_; ++i) {
    const int64_t tokens = std::ssize(set.sources[i]);
    if (tokens > 1 && tokens < rows_) pictured_ = i;
  }
  if (pictured_ && !arena_has_room()) pictured_.reset();
}

bool Samples::arena_has_room() {
  const Replica& replica = trainer_->replica();
  Context dry(replica.context().device(), /*dry_run=*/true);
  Arena arena(dry.device());
  Pass used = trainer_->pass(/*training=*/false);
  Pass p{.ctx = dry, .arena = arena, .tp = used.tp, .sequence = used.sequence};
  attend(p, replica.model(), fullest_block(rows_), rows_);
  return arena.high_water() <= used.arena.capacity();
}

std::vector<SampleText> Samples::texts(const std::vector<Translation>& translations, const std::string& set) const {
  std::vector<SampleText> all;
  for (size_t i = 0; i < count_; ++i)
    all.push_back(
        {set, decode_with_tags(set_->sources[i], *tokenizers_->source), set_->references[i], translations[i].text});
  return all;
}

std::optional<SampleAttention> Samples::attention(const std::vector<Translation>& translations) {
  if (!pictured_) return std::nullopt;
  const std::vector<int32_t>& source = set_->sources[*pictured_];
  std::vector<int32_t> target = translations[*pictured_].tokens;
  target.resize(std::min(target.size(), static_cast<size_t>(rows_ - 1)));
  BlockBuilder builder(rows_, rows_);
  builder.add(source, target);
  Pass p = trainer_->pass(/*training=*/false);
  p.recompute = false;  // cross_attention() reads the queries and keys of all layers
  const std::vector<float> all =
      to_host<float>(p.ctx, attend(p, trainer_->replica().model(), builder.finish(0), rows_));
  SampleAttention attention{.sample = *pictured_,
                            .source = pieces(source, *tokenizers_->source),
                            .target = pieces(target, *tokenizers_->target)};
  for (size_t t = 0; t < attention.target.size(); ++t) {
    const auto row = all.begin() + static_cast<std::ptrdiff_t>(t) * rows_;
    attention.weights.insert(attention.weights.end(), row, row + std::ssize(attention.source));
  }
  return attention;
}

}  // namespace weft
