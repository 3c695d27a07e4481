// trainer/inference/evaluate.cpp: translates and scores held-out sets, and computes losses and scores of pairs.
#include "trainer/inference/evaluate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/tags.h"
#include "trainer/inference/pair_blocks.h"

namespace weft {
namespace {

size_t scoring_memory(const Replica& replica, int64_t rows) {
  Context dry(replica.context().device(), /*dry_run=*/true);
  Arena arena(dry.device());
  Pass p{.ctx = dry, .arena = arena, .tp = replica.tp()};
  replica.model().loss(p, replica.model().load(p, fullest_block(rows)), /*smoothing=*/0);
  return arena.high_water();
}

}  // namespace

TranslationScore score_translations(const std::vector<std::string>& hypotheses,
                                    const std::vector<std::string>& references, BleuTokenizer tokenizer) {
  return {.sentences = static_cast<int64_t>(hypotheses.size()),
          .bleu = bleu(hypotheses, {references}, {.tokenizer = chosen_tokenizer(tokenizer, references)}),
          .chrf = chrf(hypotheses, {references})};
}

std::vector<std::string> best_texts(const std::vector<NBest>& translations) {
  std::vector<std::string> texts;
  texts.reserve(translations.size());
  for (const NBest& nbest : translations) texts.push_back(nbest.front().text);
  return texts;
}

HeldOutSet read_held_out(Corpus& corpus, const Tokenizer& target, int64_t count) {
  std::vector<PairIds> pairs;
  corpus.read_pairs(0, count < 0 ? corpus.num_pairs() : std::min(count, corpus.num_pairs()), pairs);
  HeldOutSet set;
  set.references = read_references(corpus.folder(), corpus.manifest());
  const bool decodes = set.references.empty();
  if (!decodes) set.references.resize(pairs.size());
  for (PairIds& pair : pairs) {
    set.sources.push_back(std::move(pair.source));
    const auto tags = static_cast<std::ptrdiff_t>(num_leading_tags(pair.target, target));
    set.prefixes.emplace_back(pair.target.begin(), pair.target.begin() + tags);
    if (decodes) set.references.push_back(target.decode(pair.target));
  }
  return set;
}

std::optional<TranslationScore> evaluate(Translator& translator, const HeldOutSet& set, BleuTokenizer tokenizer,
                                         Communicator& dp, const std::function<bool()>& stop,
                                         std::vector<Translation>& kept) {
  const int64_t at_once = 128 * dp.size(), total = std::ssize(set.sources);  // batch size does not affect results
  std::vector<std::string> texts;
  for (int64_t begin = 0; begin < total; begin += at_once) {
    if (stop()) return std::nullopt;
    std::vector<TranslationInput> inputs;
    for (auto i = static_cast<size_t>(begin); std::ssize(inputs) < std::min(at_once, total - begin); ++i)
      inputs.push_back({.source = set.sources[i], .prefix = set.prefixes[i]});
    for (NBest& nbest : translator.translate_inputs(std::move(inputs))) {
      texts.push_back(nbest.front().text);
      if (texts.size() <= kept.size()) kept[texts.size() - 1] = std::move(nbest.front());
    }
  }
  return score_translations(texts, set.references, tokenizer);
}

LossSums validation_loss(Pass& p, const Transformer& model, const std::vector<Block>& blocks, double smoothing,
                         const LossTotal& total, Communicator& dp) {
  int64_t tokens = 0;
  total.clear(p.ctx);
  for (const Block& block : blocks) {
    total.add(p.ctx, model.loss(p, model.load(p, block), smoothing));
    tokens += block.target_tokens();
  }
  const BlockLoss sums = total.read(p.ctx);
  return {.sums = {.loss = dp.sum(sums.loss), .nll = dp.sum(sums.nll)},
          .tokens = static_cast<int64_t>(dp.sum(static_cast<double>(tokens)))};
}

int64_t longest_scored_tokens(const Transformer& model) { return pair_block_rows(model) - 1; }

double adequacy(const PairScore& forward, const PairScore& backward) {
  const double a = -forward.per_token(), b = -backward.per_token();
  return std::exp(-(std::abs(a - b) + (a + b) / 2));
}

std::vector<PairScore> score_pairs(const Replica& replica, const std::vector<PairIds>& pairs,
                                   const std::vector<int64_t>& given) {
  const auto num_given = [&](size_t pair) { return given.empty() ? 0 : given[pair]; };
  const Mesh& mesh = replica.mesh();
  Context& ctx = replica.context();
  const int64_t rows = pair_block_rows(replica.model());
  const PairBlocks packed = pack_in_order(pairs, rows);
  Arena arena(scoring_memory(replica, rows), ctx.device());
  std::vector<int64_t> begin{0};  // of each pair's tokens in log_probs
  for (size_t i = 0; i < pairs.size(); ++i)
    begin.push_back(begin.back() + std::ssize(pairs[i].target) - num_given(i) + 1);
  std::vector<double> log_probs(static_cast<size_t>(begin.back()), 0.0);  // this rank fills in only its own blocks
  for (auto b = static_cast<size_t>(mesh.dp().rank()); b < packed.blocks.size();
       b += static_cast<size_t>(mesh.dp().size())) {
    const Block& block = packed.blocks[b];
    Pass p{.ctx = ctx, .arena = arena, .tp = replica.tp()};
    const std::vector<float> nll =
        to_host<float>(ctx, replica.model().loss(p, replica.model().load(p, block), /*smoothing=*/0).nll);
    for (size_t i = 0; i + 1 < block.target_offsets.size(); ++i) {
      const size_t pair = packed.first[b] + i;
      auto to = static_cast<size_t>(begin[pair]);
      for (int64_t row = block.target_offsets[i] + num_given(pair); row < block.target_offsets[i + 1]; ++row)
        log_probs[to++] -= static_cast<double>(nll[static_cast<size_t>(row)]);
    }
  }
  if (!pairs.empty())
    mesh.dp().all_reduce(Tensor(log_probs.data(), {static_cast<int64_t>(log_probs.size())}, DType::f64));
  std::vector<PairScore> scores;
  for (size_t i = 0; i < pairs.size(); ++i) {
    PairScore score{.log_probs = {log_probs.begin() + begin[i], log_probs.begin() + begin[i + 1]}};
    score.log_prob = std::accumulate(score.log_probs.begin(), score.log_probs.end(), 0.0);
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace weft
