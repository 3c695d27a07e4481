// model/decoding/beam.cpp: runs the beam search of one sentence, step by step.
#include "model/decoding/beam.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <tuple>

#include "data/batch.h"

namespace weft {

double length_penalty(const BeamOptions& options, int64_t tokens, int64_t forced) {
  const bool is_gnmt = options.length_penalty_kind == LengthPenalty::gnmt;
  const double base = is_gnmt ? (5 + static_cast<double>(tokens)) / 6 : static_cast<double>(tokens + forced);
  return std::pow(base, options.length_penalty);
}

Beam::Beam(const BeamOptions& options, int64_t max_tokens, int64_t forced)
    : options_(options), max_tokens_(max_tokens), forced_(forced), open_{Open{}} {}

// One of a hypothesis's continuations can be its end, which takes no place from the others in a beam of fixed width.
int64_t continuations_per_hypothesis(const BeamOptions& options) {
  return options.beam + (options.kind == BeamKind::shrinking ? 0 : 1);
}

int64_t Beam::places() const { return options_.beam - (shrinks() ? std::ssize(finished_) : 0); }

void Beam::finish(const Continuation& c) {
  const Open& parent = open_[static_cast<size_t>(c.parent)];
  Hypothesis h{.tokens = parent.tokens, .log_prob = c.log_prob, .log_probs = {c.last}};
  for (int64_t i = parent.last; i >= 0; i = predicted_[static_cast<size_t>(i)].before)
    h.log_probs.push_back(predicted_[static_cast<size_t>(i)].log_prob);
  std::ranges::reverse(h.log_probs);
  h.score = h.log_prob / penalty(num_tokens_ + 1);
  const auto worse = [&](const Hypothesis& other) { return other.score < h.score; };  // equal scores keep their order
  finished_.insert(std::find_if(finished_.begin(), finished_.end(), worse), std::move(h));
  if (std::ssize(finished_) > options_.beam) finished_.pop_back();
}

std::vector<Beam::SlotCopy> Beam::advance(std::vector<Continuation> all) {
  const auto better = [](const Continuation& a, const Continuation& b) {
    return std::tuple(-a.log_prob, a.parent, a.id) < std::tuple(-b.log_prob, b.parent, b.id);
  };
  const auto width = static_cast<size_t>(places());
  const size_t taken = std::min(all.size(), shrinks() ? width : 2 * width);  // at most `width` of them are ends
  std::partial_sort(all.begin(), all.begin() + static_cast<int64_t>(taken), all.end(), better);

  std::vector<Open> next;
  std::vector<bool> stays(open_.size(), false), busy(static_cast<size_t>(options_.beam), false);
  std::vector<std::pair<size_t, int64_t>> newcomers;  // index in `next`, slot of the parent
  for (size_t i = 0; i < taken; ++i) {
    const Continuation& c = all[i];
    assert(!must_end() || c.id == SpecialIds::eos);
    if (c.id == SpecialIds::eos) {
      if (i < width) finish(c);
      continue;
    }
    if (next.size() == width) break;
    const Open& parent = open_[static_cast<size_t>(c.parent)];
    if (!is_forced()) predicted_.push_back({.before = parent.last, .log_prob = c.last});
    const int64_t last = std::ssize(predicted_) - 1;
    next.push_back({.tokens = parent.tokens, .log_prob = c.log_prob, .slot = parent.slot, .last = last});
    next.back().tokens.push_back(c.id);
    if (stays[static_cast<size_t>(c.parent)]) newcomers.emplace_back(next.size() - 1, parent.slot);
    stays[static_cast<size_t>(c.parent)] = busy[static_cast<size_t>(parent.slot)] = true;
  }

  std::vector<SlotCopy> copies;
  int64_t free_slot = 0;
  for (const auto& [place, from] : newcomers) {
    while (busy[static_cast<size_t>(free_slot)]) ++free_slot;
    next[place].slot = free_slot;
    copies.push_back({.from = from, .to = free_slot++});
  }
  open_ = std::move(next);
  ++num_tokens_;
  return copies;
}

bool Beam::done() const {
  if (open_.empty()) return true;
  if (!shrinks()) {
    if (std::ssize(finished_) < options_.beam) return false;
    return options_.kind == BeamKind::first || finished_.back().score >= open_.front().log_prob / penalty(num_tokens_);
  }
  const auto wanted = static_cast<size_t>(std::min(options_.nbest, options_.beam));
  if (finished_.size() < wanted) return false;
  const int64_t tokens = options_.length_penalty >= 0 ? max_tokens_ + 1 : num_tokens_ + 1;
  return finished_[wanted - 1].score >= open_.front().log_prob / penalty(tokens);
}

std::vector<Hypothesis> Beam::best() const {
  const auto count = std::min(finished_.size(), static_cast<size_t>(options_.nbest));
  return {finished_.begin(), finished_.begin() + static_cast<int64_t>(count)};
}

}  // namespace weft
