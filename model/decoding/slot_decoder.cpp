// model/decoding/slot_decoder.cpp: runs encoder windows, decoding steps and copies of cache rows on the device.
#include "model/decoding/slot_decoder.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tensor/error.h"
#include "tensor/math.h"

namespace weft {
namespace {

// Returns a tensor [slots] with one value per slot.
template <typename Slot, typename F>
Tensor upload_each(Pass& p, const std::vector<Slot>& slots, F&& value) {
  std::vector<int32_t> values;
  values.reserve(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) values.push_back(static_cast<int32_t>(value(slots[i], i)));
  return upload(p, values);
}

}  // namespace

// After the rows for hypotheses, the caches have one row per slot, to which an idle slot writes its keys and values.
SlotDecoder::SlotDecoder(Context& ctx, const Transformer& model, const TensorParallel& tp,
                         const SlotDecoderShape& shape, const TokenRules& rules)
    : ctx_(ctx),
      model_(model),
      tp_(tp),
      shape_(shape),
      state_(ctx, model, tp, 1, shape.cache_rows + shape.slots, shape.windows * shape.window_rows),
      window_(ctx, model, tp, 0, 0, 0),
      classes_buffer_(ctx.dry_run() ? Buffer() : Buffer(classes_bytes(), ctx.device())),
      classes_(upload_classes(rules)),
      arena_bytes_(measure()),
      arena_(ctx.dry_run() ? Arena() : Arena(arena_bytes_, ctx.device())) {}

// Columns without an id pad the last rank's part, and top_k never reads them.
Tensor SlotDecoder::upload_classes(const TokenRules& rules) {
  const VocabularyRange mine = range_of(tp_.rank());
  if (rules.classes.empty() || ctx_.dry_run()) return {};
  const auto begin = rules.classes.begin() + mine.first;
  std::vector<int32_t> classes(begin, begin + mine.valid);
  classes.resize(static_cast<size_t>(model_.output().columns()));
  const Tensor t = classes_buffer_.tensor({std::ssize(classes)}, DType::i32);
  upload(ctx_, classes.data(), t);
  return t;
}

size_t SlotDecoder::measure() {
  Context dry(ctx_.device(), /*dry_run=*/true);
  Arena arena(ctx_.device());
  encode(pass(dry, arena), {}, 0);
  step(pass(dry, arena), std::vector<Slot>(static_cast<size_t>(shape_.slots)));
  copy_rows(pass(dry, arena), {}, {}, shape_.cache_rows);
  ctx_.reserve(dry);
  return arena.high_water();
}

std::vector<SlotDecoder::Rows> SlotDecoder::encode(const std::vector<const std::vector<int32_t>*>& sources,
                                                   int64_t window) {
  encode(pass(ctx_, arena_), sources, window);
  std::vector<Rows> rows;
  auto begin = static_cast<int32_t>(window * shape_.window_rows);
  for (const auto* source : sources) {
    const auto end = begin + static_cast<int32_t>(source->size()) + 1;
    rows.push_back({begin, end});
    begin = end;
  }
  return rows;
}

void SlotDecoder::encode(Pass p, const std::vector<const std::vector<int32_t>*>& sources, int64_t window) {
  p.arena.reset();
  std::vector<int32_t> ids, positions, offsets{0};
  for (const auto* source : sources) {
    ids.insert(ids.end(), source->begin(), source->end());
    ids.push_back(SpecialIds::eos);
    for (int32_t i = 0; i <= static_cast<int32_t>(source->size()); ++i) positions.push_back(i);
    offsets.push_back(static_cast<int32_t>(ids.size()));
  }
  assert(static_cast<int64_t>(ids.size()) <= shape_.window_rows);
  const int64_t rows = leaves_out() && !sources.empty() ? std::ssize(ids) : shape_.window_rows;
  ids.resize(static_cast<size_t>(rows), -1);
  positions.resize(static_cast<size_t>(rows), 0);
  const int64_t sentences = static_cast<int64_t>(sources.size());
  const Tensor bounds = upload(p, offsets, shape_.window_rows + 1);
  for (size_t i = 0; i < state_.blocks.size(); ++i) {
    const KeyValueCache& all = state_.blocks[i].cross;
    window_.blocks[i].cross = {.k = all.k.slice_rows(window * shape_.window_rows, rows),
                               .v = all.v.slice_rows(window * shape_.window_rows, rows)};
  }
  model_.start_decoding(p,
                        {.ids = upload(p, ids),
                         .positions = upload(p, positions),
                         .rows = {.begin = bounds.slice_rows(0, sentences), .end = bounds.slice_rows(1, sentences)}},
                        window_);
}

VocabularyRange SlotDecoder::range_of(int rank) const {
  return VocabularyRange::of(model_.output().vocabulary(), rank, tp_.size());
}

// A rank offers one candidate more than requested, because bos may be among its best.
int64_t SlotDecoder::offered() const { return std::min(shape_.candidates + 1, range_of(0).valid); }
int64_t SlotDecoder::offered_by(int rank) const { return std::min(offered(), range_of(rank).valid); }

void SlotDecoder::gather_best(Pass& p, const Tensor& logits, const Tensor& allowed, const Offer& offer) const {
  const Shape whole{logits.rows(), offered()}, found{logits.rows(), offered_by(tp_.rank())};
  const bool alone = tp_.size() == 1;
  const Tensor my_values = alone ? offer.values.with_shape(whole) : p.arena.tensor(whole);
  const Tensor my_columns = alone ? offer.columns.with_shape(whole) : p.arena.tensor(whole, DType::i32);
  if (found.numel() > 0)
    ops::top_k(p.ctx, {.x = logits,
                       .valid = range_of(tp_.rank()).valid,
                       .values = Tensor(my_values.data, found, DType::f32, my_values.device),
                       .columns = Tensor(my_columns.data, found, DType::i32, my_columns.device),
                       .classes = classes_,
                       .allowed = classes_.empty() ? Tensor() : allowed});
  if (alone) return;
  p.tp.gather(p.ctx, my_values, offer.values);
  p.tp.gather(p.ctx, my_columns, offer.columns);
}

Tensor SlotDecoder::gather_rows(Pass& p, const Tensor& logits) const {
  Tensor mine = logits;
  if (logits.dtype != DType::f32) ops::cast(p.ctx, {.x = logits, .y = mine = p.arena.tensor(logits.shape)});
  if (tp_.size() == 1) return mine;
  const Tensor all = p.arena.tensor({tp_.size(), logits.rows(), logits.cols()});
  p.tp.gather(p.ctx, mine, all);
  return all;
}

SlotDecoder::Offer SlotDecoder::step(Pass p, const std::vector<Slot>& slots) const {
  p.arena.reset();
  const auto idle = [](const Slot& s) { return s.id < 0; };
  const Tensor ids = upload_each(
      p, slots, [&](const Slot& s, size_t) { return s.id == SpecialIds::bos ? model_.config().start_id() : s.id; });
  const auto upload_rows = [&](int64_t longest, auto&& begin, auto&& end) {
    return SequenceRanges{.begin = upload_each(p, slots, begin), .end = upload_each(p, slots, end), .longest = longest};
  };
  const DecoderBlock::StepRows rows{
      .cache_rows = upload_each(p, slots,
                                [&](const Slot& s, size_t i) {
                                  return idle(s) ? shape_.cache_rows + static_cast<int64_t>(i)
                                                 : s.first_row + s.position;
                                }),
      .positions = upload_each(p, slots, [](const Slot& s, size_t) { return s.position; }),
      .queries = upload_rows(
          1, [](const Slot&, size_t i) { return i; }, [&](const Slot& s, size_t i) { return i + (idle(s) ? 0 : 1); }),
      .self_keys = upload_rows(
          model_.max_positions(), [](const Slot& s, size_t) { return s.first_row; },
          [&](const Slot& s, size_t) { return s.first_row + (idle(s) ? 0 : s.position + 1); }),
      .cross_keys = upload_rows(
          shape_.window_rows, [](const Slot& s, size_t) { return s.source.begin; },
          [](const Slot& s, size_t) { return s.source.end; })};

  const int64_t count = std::ssize(slots);
  const Tensor logits = p.arena.tensor({count, model_.output().columns()}, model_.dtype());
  model_.decode_step(p, ids, rows, state_, logits);
  const Tensor ends = upload_each(p, slots, [](const Slot&, size_t) { return SpecialIds::eos; });
  const Tensor stats = gathered_stats(p, model_.output(), logits, ends);
  if (shape_.whole_rows) return {.values = gather_rows(p, logits), .columns = {}, .stats = stats};
  const Offer all{.values = p.arena.tensor({p.tp.size(), count, offered()}),
                  .columns = p.arena.tensor({p.tp.size(), count, offered()}, DType::i32),
                  .stats = stats};
  gather_best(p, logits, upload_each(p, slots, [](const Slot& s, size_t) { return s.allowed; }), all);
  return all;
}

std::vector<SlotDecoder::Next::Piece> SlotDecoder::best_of_row(const HostOffer& all, int64_t row,
                                                               double log_sum) const {
  std::vector<Next::Piece> best;
  for (int rank = 0; rank < tp_.size(); ++rank) {
    const int64_t begin = rank * all.rows * offered() + row * offered_by(rank);
    for (auto at = static_cast<size_t>(begin); at < static_cast<size_t>(begin + offered_by(rank)); ++at) {
      const int32_t id = static_cast<int32_t>(range_of(rank).first) + all.columns[at];
      if (id == SpecialIds::bos || std::isinf(all.values[at])) continue;  // -inf: not allowed
      best.push_back({.id = id, .log_prob = static_cast<double>(all.values[at]) - log_sum});
    }
  }
  return best;
}

std::vector<double> SlotDecoder::whole_row(const HostOffer& all, int64_t row, double log_sum) const {
  std::vector<double> log_probs;
  log_probs.reserve(static_cast<size_t>(model_.output().vocabulary()));
  for (int rank = 0; rank < tp_.size(); ++rank) {
    const float* begin = &all.values[static_cast<size_t>((rank * all.rows + row) * model_.output().columns())];
    for (const float logit : std::span(begin, static_cast<size_t>(range_of(rank).valid)))
      log_probs.push_back(static_cast<double>(logit) - log_sum);
  }
  return log_probs;
}

std::vector<SlotDecoder::Next> SlotDecoder::step(const std::vector<Slot>& slots) {
  assert(static_cast<int64_t>(slots.size()) == shape_.slots);
  std::vector<Slot> computed;
  std::vector<size_t> place;  // index into `slots`
  for (size_t i = 0; i < slots.size(); ++i) {
    if (leaves_out() && slots[i].id < 0) continue;
    computed.push_back(slots[i]);
    place.push_back(i);
  }
  if (computed.empty()) return std::vector<Next>(slots.size());
  const Offer offer = step(pass(ctx_, arena_), computed);
  HostOffer all{.values = to_host<float>(ctx_, offer.values),
                .stats = to_host<float>(ctx_, offer.stats),
                .rows = std::ssize(computed)};
  if (!shape_.whole_rows) all.columns = to_host<int32_t>(ctx_, offer.columns);
  std::vector<Next> next(slots.size());
  for (int64_t i = 0; i < all.rows; ++i) {
    if (computed[static_cast<size_t>(i)].id < 0) continue;
    SoftmaxRow<double> row;
    for (int64_t rank = 0; rank < tp_.size(); ++rank) {
      const float* s = &all.stats[static_cast<size_t>(rank * all.rows + i) * 4];
      row = merge(row, SoftmaxRow<double>{s[0], s[1], s[2], s[3]});
    }
    const double lse = log_sum_exp(row);
    if (!std::isfinite(lse))
      fail(ErrorKind::diverged, "the model has diverged: its predictions are not finite; try an earlier checkpoint");
    Next& found = next[place[static_cast<size_t>(i)]];
    found.end = row.target - lse;
    if (shape_.whole_rows)
      found.log_probs = whole_row(all, i, lse);
    else
      found.best = best_of_row(all, i, lse);
  }
  return next;
}

void SlotDecoder::copy_rows(const std::vector<int32_t>& from, const std::vector<int32_t>& to) {
  if (!from.empty()) copy_rows(pass(ctx_, arena_), from, to, 0);
}

void SlotDecoder::copy_rows(Pass p, const std::vector<int32_t>& from, const std::vector<int32_t>& to,
                            int64_t capacity) const {
  p.arena.reset();
  const int64_t count = std::max(static_cast<int64_t>(from.size()), capacity);
  const Tensor sources = upload(p, from, capacity), targets = upload(p, to, capacity);
  const Tensor rows = p.arena.tensor({count, state_.blocks.front().self.k.cols()}, model_.dtype());
  const Tensor copied = rows.slice_rows(0, static_cast<int64_t>(from.size()));
  for (const DecoderBlock::Cache& block : state_.blocks) {
    for (const Tensor& cache : {block.self.k, block.self.v}) {
      ops::gather_rows(p.ctx, {.x = cache, .rows = sources, .y = copied});
      ops::scatter_rows(p.ctx, {.x = copied, .rows = targets, .y = cache});
    }
  }
}

}  // namespace weft
