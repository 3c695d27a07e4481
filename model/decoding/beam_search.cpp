// model/decoding/beam_search.cpp: encodes the sentences of a search and assigns them to slots.
//
// Slots come in groups of `beam`, one group per sentence. A group owns enough cache rows for hypotheses of usual
// length. A longer sentence takes the rows of several neighboring groups, but uses only the slots of the first group.
#include "model/decoding/beam_search.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kSlots = 64;         // rows per decoding step; more if the beam is wider
constexpr int64_t kRowsPerSlot = 128;  // length of a usual hypothesis
constexpr int64_t kWindowRows = 512;   // length of the longest source
constexpr int64_t kNumWindows = 3;     // so sentences can be encoded while earlier windows are still being decoded

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

const SearchOptions& checked(const SearchOptions& o) {
  require(o.beam.nbest >= 1 && o.beam.nbest <= o.beam.beam, ErrorKind::internal,
          "nbest must be between 1 and the beam");
  require(o.sampling.samples == 0 || (o.beam.beam == 1 && o.beam.kind == BeamKind::shrinking), ErrorKind::internal,
          "samples need a shrinking beam of 1");
  return o;
}

int64_t least_positions(const std::vector<SearchModel>& models) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const SearchModel& m : models) least = std::min(least, m.model.max_positions());
  return least;
}

bool needs_whole_rows(const std::vector<SearchModel>& models, const SearchOptions& o) {
  return models.size() > 1 || o.sampling.samples > 0 || o.no_repeat_ngram > 0;
}

constexpr double kNever = -std::numeric_limits<double>::infinity();

// Returns the `count` best tokens, or fewer if fewer are possible.
std::vector<SlotDecoder::Next::Piece> best_of(const std::vector<double>& log_probs, int64_t count) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < log_probs.size(); ++id)
    if (log_probs[id] > kNever) ids.push_back(static_cast<int32_t>(id));
  const auto at = [&](int32_t id) { return log_probs[static_cast<size_t>(id)]; };
  const auto better = [&](int32_t a, int32_t b) { return at(a) != at(b) ? at(a) > at(b) : a < b; };
  const auto end = ids.begin() + std::min(count, std::ssize(ids));
  std::partial_sort(ids.begin(), end, ids.end(), better);
  std::vector<SlotDecoder::Next::Piece> best;
  for (auto id = ids.begin(); id != end; ++id) best.push_back({.id = *id, .log_prob = at(*id)});
  return best;
}

}  // namespace

BeamSearch::BeamSearch(const std::vector<SearchModel>& models, const SearchOptions& options, TokenRules rules,
                       int64_t side_by_side)
    : options_(checked(options)),
      rules_(std::move(rules)),
      longest_target_(std::min(kLongestTarget, least_positions(models) - 1)),
      num_groups_(std::max<int64_t>(kSlots / options.beam.beam, 1)),
      rows_per_slot_(
          std::max(std::min(kRowsPerSlot, longest_target_ + 1), divide_up(longest_target_ + 1, num_groups_))),
      side_by_side_(side_by_side > 0 ? std::min(side_by_side, num_groups_) : num_groups_),
      decoder_(models,
               {.slots = std::max(kSlots, options.beam.beam),
                .cache_rows = num_groups_ * options.beam.beam * rows_per_slot_,
                .windows = kNumWindows,
                .window_rows = std::min(kWindowRows, least_positions(models)),
                .candidates = continuations_per_hypothesis(options.beam),
                .whole_rows = needs_whole_rows(models, options)},
               rules_, options.mean) {}

class BeamSearch::Run {
 public:
  Run(BeamSearch& search, SearchWork& work);
  void finish();

 private:
  struct Job {  // an encoded sentence
    size_t request;
    int64_t window;
    SlotDecoder::Rows source;
    Beam beam;
    int64_t num_groups;
    uint64_t key;        // of its random numbers
    int64_t group = -1;  // the first of its groups, set when decoding starts
  };
  int64_t slot_of(const Job& job, int64_t slot) const { return job.group * beam_ + slot; }
  int64_t first_row(const Job& job, int64_t slot) const {
    return (job.group * beam_ + slot * job.num_groups) * search_.rows_per_slot_;
  }
  uint32_t allowed_next(const Job& job, const Beam::Open& open) const;
  bool encode_window();
  int64_t free_groups(int64_t count) const;  // the first of `count` free neighboring groups, or -1
  void set_busy(const Job& job, bool busy) { std::fill_n(busy_.begin() + job.group, job.num_groups, busy); }
  void admit();
  void step();
  void forbid(const Job& job, const Beam::Open& open, std::vector<double>& log_probs) const;
  std::vector<SlotDecoder::Next::Piece> choices(const Job& job, const Beam::Open& open, SlotDecoder::Next& next) const;
  void advance(Job& job, std::vector<SlotDecoder::Next>& next);
  void retire();

  BeamSearch& search_;
  SearchWork& work_;
  const std::vector<BeamRequest>& requests_;
  const int64_t beam_;
  std::deque<Job> encoded_;  // not yet in slots
  std::vector<Job> active_;
  std::vector<int64_t> window_users_;  // jobs that still read each window
  std::vector<bool> busy_;             // by group
  std::vector<int32_t> copy_from_, copy_to_;
};

BeamSearch::Run::Run(BeamSearch& search, SearchWork& work)
    : search_(search),
      work_(work),
      requests_(work.requests()),
      beam_(search.options_.beam.beam),
      window_users_(static_cast<size_t>(kNumWindows), 0),
      busy_(static_cast<size_t>(search.num_groups_), false) {
  for (const BeamRequest& r : requests_) {
    if (std::ssize(r.source) > search.longest_source() || r.max_tokens > search.longest_target())
      fail(ErrorKind::internal,
           fmt::format("a request with {} source tokens and up to {} target tokens exceeds the limits {} and {}",
                       r.source.size(), r.max_tokens, search.longest_source(), search.longest_target()));
    require(std::ssize(r.prefix) <= r.max_tokens, ErrorKind::internal, "a prefix is longer than max_tokens");
  }
}

void BeamSearch::Run::finish() {
  for (;;) {
    admit();
    if (active_.empty()) return;
    step();
    retire();
  }
}

// Fills a free window with waiting sentences. Returns false if no window is free or no sentence waits.
bool BeamSearch::Run::encode_window() {
  const auto window = std::find(window_users_.begin(), window_users_.end(), 0);
  if (window == window_users_.end()) return false;
  const std::vector<size_t> taken = work_.take(search_.decoder_.shape().window_rows);
  if (taken.empty()) return false;
  std::vector<const std::vector<int32_t>*> sources;
  for (const size_t request : taken) sources.push_back(&requests_[request].source);
  const int64_t index = window - window_users_.begin();
  const std::vector<SlotDecoder::Rows> rows = search_.decoder_.encode(sources, index);
  for (size_t i = 0; i < taken.size(); ++i) {
    const BeamRequest& request = requests_[taken[i]];
    encoded_.push_back({.request = taken[i],
                        .window = index,
                        .source = rows[i],
                        .beam = Beam(search_.options_.beam, request.max_tokens, std::ssize(request.prefix)),
                        .num_groups = divide_up(request.max_tokens + 1, search_.rows_per_slot_),
                        .key = sampling_key(request.source, request.prefix)});
  }
  *window = static_cast<int64_t>(taken.size());
  return true;
}

int64_t BeamSearch::Run::free_groups(int64_t count) const {
  const auto found = std::search_n(busy_.begin(), busy_.end(), count, false);
  return found == busy_.end() ? -1 : found - busy_.begin();
}

void BeamSearch::Run::admit() {
  while (static_cast<int64_t>(active_.size()) < search_.side_by_side_) {
    if (encoded_.empty() && !encode_window()) return;
    Job& job = encoded_.front();
    job.group = free_groups(job.num_groups);
    if (job.group < 0) return;
    set_busy(job, true);
    active_.push_back(std::move(job));
    encoded_.pop_front();
  }
}

uint32_t BeamSearch::Run::allowed_next(const Job& job, const Beam::Open& open) const {
  if (search_.rules_.classes.empty() || job.beam.is_forced() || job.beam.must_end()) return ~0u;
  return search_.rules_.allowed_next(open.tokens, requests_[job.request].min_tokens, job.beam.max_tokens());
}

void BeamSearch::Run::step() {
  std::vector<SlotDecoder::Slot> slots(static_cast<size_t>(search_.decoder_.shape().slots));
  for (const Job& job : active_) {
    for (const Beam::Open& open : job.beam.open())
      slots[static_cast<size_t>(slot_of(job, open.slot))] = {
          .id = open.tokens.empty() ? SpecialIds::bos : open.tokens.back(),
          .position = static_cast<int32_t>(open.tokens.size()),
          .first_row = static_cast<int32_t>(first_row(job, open.slot)),
          .source = job.source,
          .allowed = allowed_next(job, open)};
  }
  std::vector<SlotDecoder::Next> next = search_.decoder_.step(slots);
  copy_from_.clear();
  copy_to_.clear();
  for (Job& job : active_) advance(job, next);
  search_.decoder_.copy_rows(copy_from_, copy_to_);
}

// Gives the tokens that may not follow `open` the probability 0.
void BeamSearch::Run::forbid(const Job& job, const Beam::Open& open, std::vector<double>& log_probs) const {
  const uint32_t allowed = allowed_next(job, open);
  const std::vector<int32_t>& classes = search_.rules_.classes;
  for (size_t id = 0; id < classes.size(); ++id)
    if ((allowed >> classes[id] & 1u) == 0) log_probs[id] = kNever;
  log_probs[SpecialIds::bos] = kNever;
  const int64_t ngram = search_.options_.no_repeat_ngram;
  if (ngram == 0 || is_inside_character(allowed)) return;
  for (const int32_t id : repeating_tokens(open.tokens, ngram)) log_probs[static_cast<size_t>(id)] = kNever;
}

// Returns the tokens that can follow `open`: all that the beam search needs, or the one that was drawn.
std::vector<SlotDecoder::Next::Piece> BeamSearch::Run::choices(const Job& job, const Beam::Open& open,
                                                               SlotDecoder::Next& next) const {
  if (!search_.decoder_.shape().whole_rows) return std::move(next.best);
  std::vector<double>& log_probs = next.log_probs;
  forbid(job, open, log_probs);
  const SamplingOptions& sampling = search_.options_.sampling;
  if (sampling.samples == 0 || std::ranges::max(log_probs) == kNever)
    return best_of(log_probs, search_.decoder_.shape().candidates);
  const BeamRequest& request = requests_[job.request];
  const int32_t id = draw(sampling_weights(log_probs, sampling),
                          sampling_uniform(sampling.seed, job.key, request.sample, job.beam.num_tokens()));
  return {{.id = id, .log_prob = log_probs[static_cast<size_t>(id)]}};
}

void BeamSearch::Run::advance(Job& job, std::vector<SlotDecoder::Next>& next) {
  std::vector<Beam::Continuation> all;
  const auto add = [&](size_t parent, int32_t id, double log_prob) {
    all.push_back({.parent = static_cast<int64_t>(parent),
                   .id = id,
                   .log_prob = job.beam.open()[parent].log_prob + log_prob,
                   .last = log_prob});
  };
  const std::vector<Beam::Open>& open = job.beam.open();
  if (job.beam.is_forced()) {
    const std::vector<int32_t>& prefix = requests_[job.request].prefix;
    job.beam.advance({{.parent = 0, .id = prefix[static_cast<size_t>(job.beam.num_tokens())], .log_prob = 0}});
    return;
  }
  for (size_t i = 0; i < open.size(); ++i) {
    SlotDecoder::Next& n = next[static_cast<size_t>(slot_of(job, open[i].slot))];
    if (job.beam.must_end()) {
      add(i, SpecialIds::eos, n.end);
      continue;
    }
    for (const SlotDecoder::Next::Piece& piece : choices(job, open[i], n)) add(i, piece.id, piece.log_prob);
  }
  if (all.empty())  // the rules allow nothing
    add(0, SpecialIds::eos, next[static_cast<size_t>(slot_of(job, open.front().slot))].end);
  const std::vector<Beam::SlotCopy> copies = job.beam.advance(std::move(all));
  if (job.beam.done()) return;
  for (const Beam::SlotCopy& copy : copies) {
    for (int64_t row = 0; row < job.beam.num_tokens(); ++row) {
      copy_from_.push_back(static_cast<int32_t>(first_row(job, copy.from) + row));
      copy_to_.push_back(static_cast<int32_t>(first_row(job, copy.to) + row));
    }
  }
}

void BeamSearch::Run::retire() {
  std::erase_if(active_, [&](const Job& job) {
    if (!job.beam.done()) return false;
    work_.finish(job.request, job.beam.best());
    set_busy(job, false);
    --window_users_[static_cast<size_t>(job.window)];
    return true;
  });
}

std::vector<std::vector<Hypothesis>> BeamSearch::search(const std::vector<BeamRequest>& requests,
                                                        const std::function<void(int64_t)>& on_done) {
  SearchWork work(requests, on_done);
  search(work);
  return work.results();
}

void BeamSearch::search(SearchWork& work) { Run(*this, work).finish(); }

}  // namespace weft
