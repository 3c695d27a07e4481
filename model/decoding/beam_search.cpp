// model/decoding/beam_search.cpp: encodes the sentences of a search and assigns them to slots.
//
// Slots come in groups of `beam`, one group per sentence. A group owns enough cache rows for hypotheses of usual
// length. A longer sentence takes the rows of several neighboring groups, but uses only the slots of the first group.
#include "model/decoding/beam_search.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kSlots = 64;         // rows per decoding step; more if the beam is wider
constexpr int64_t kRowsPerSlot = 128;  // length of a usual hypothesis
constexpr int64_t kWindowRows = 512;   // length of the longest source
constexpr int64_t kNumWindows = 3;     // so sentences can be encoded while earlier windows are still being decoded
constexpr int64_t kLongestTarget = 1023;

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

const BeamOptions& checked(const BeamOptions& o) {
  require(o.nbest >= 1 && o.nbest <= o.beam, ErrorKind::internal, "nbest must be between 1 and the beam");
  return o;
}

}  // namespace

BeamSearch::BeamSearch(Context& ctx, const Transformer& model, const TensorParallel& tp, const BeamOptions& options,
                       TokenRules rules, int64_t side_by_side)
    : options_(checked(options)),
      rules_(std::move(rules)),
      longest_target_(std::min(kLongestTarget, model.max_positions() - 1)),
      num_groups_(std::max<int64_t>(kSlots / options.beam, 1)),
      rows_per_slot_(
          std::max(std::min(kRowsPerSlot, longest_target_ + 1), divide_up(longest_target_ + 1, num_groups_))),
      side_by_side_(side_by_side > 0 ? std::min(side_by_side, num_groups_) : num_groups_),
      decoder_(ctx, model, tp,
               {.slots = std::max(kSlots, options.beam),
                .cache_rows = num_groups_ * options.beam * rows_per_slot_,
                .windows = kNumWindows,
                .window_rows = std::min(kWindowRows, model.max_positions()),
                .candidates = continuations_per_hypothesis(options)},
               rules_) {}

class BeamSearch::Run {
 public:
  Run(BeamSearch& search, const std::vector<BeamRequest>& requests, const std::function<void(int64_t)>& on_done);
  std::vector<std::vector<Hypothesis>> finish();

 private:
  struct Job {  // an encoded sentence
    size_t request;
    int64_t window;
    SlotDecoder::Rows source;
    Beam beam;
    int64_t num_groups;
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
  void advance(Job& job, const std::vector<SlotDecoder::Next>& next);
  void retire();

  BeamSearch& search_;
  const std::vector<BeamRequest>& requests_;
  const std::function<void(int64_t)>& on_done_;
  const int64_t beam_;
  std::deque<size_t> waiting_;  // requests not yet encoded, longest first
  std::deque<Job> encoded_;     // encoded, not yet in slots
  std::vector<Job> active_;
  std::vector<int64_t> window_users_;  // jobs that still read each window
  std::vector<bool> busy_;             // by group
  std::vector<int32_t> copy_from_, copy_to_;
  std::vector<std::vector<Hypothesis>> results_;
  int64_t num_done_ = 0;
};

BeamSearch::Run::Run(BeamSearch& search, const std::vector<BeamRequest>& requests,
                     const std::function<void(int64_t)>& on_done)
    : search_(search),
      requests_(requests),
      on_done_(on_done),
      beam_(search.options_.beam),
      waiting_(requests.size()),
      window_users_(static_cast<size_t>(kNumWindows), 0),
      busy_(static_cast<size_t>(search.num_groups_), false),
      results_(requests.size()) {
  for (const BeamRequest& r : requests) {
    if (std::ssize(r.source) > search.longest_source() || r.max_tokens > search.longest_target())
      fail(ErrorKind::internal,
           fmt::format("a request with {} source tokens and up to {} target tokens exceeds the limits {} and {}",
                       r.source.size(), r.max_tokens, search.longest_source(), search.longest_target()));
    require(std::ssize(r.prefix) <= r.max_tokens, ErrorKind::internal, "a prefix is longer than max_tokens");
  }
  std::iota(waiting_.begin(), waiting_.end(), size_t{0});
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [&](size_t a, size_t b) { return requests[a].source.size() > requests[b].source.size(); });
}

std::vector<std::vector<Hypothesis>> BeamSearch::Run::finish() {
  for (;;) {
    admit();
    if (active_.empty()) return std::move(results_);
    step();
    retire();
  }
}

// Fills a free window with waiting sentences. Returns false if no window is free or no sentence waits.
bool BeamSearch::Run::encode_window() {
  const auto window = std::find(window_users_.begin(), window_users_.end(), 0);
  if (waiting_.empty() || window == window_users_.end()) return false;
  std::vector<size_t> taken;
  std::vector<const std::vector<int32_t>*> sources;
  for (int64_t rows = 0; !waiting_.empty(); waiting_.pop_front()) {
    const std::vector<int32_t>& source = requests_[waiting_.front()].source;
    rows += static_cast<int64_t>(source.size()) + 1;
    if (rows > search_.decoder_.shape().window_rows) break;
    taken.push_back(waiting_.front());
    sources.push_back(&source);
  }
  const int64_t index = window - window_users_.begin();
  const std::vector<SlotDecoder::Rows> rows = search_.decoder_.encode(sources, index);
  for (size_t i = 0; i < taken.size(); ++i) {
    const BeamRequest& request = requests_[taken[i]];
    encoded_.push_back({.request = taken[i],
                        .window = index,
                        .source = rows[i],
                        .beam = Beam(search_.options_, request.max_tokens, std::ssize(request.prefix)),
                        .num_groups = divide_up(request.max_tokens + 1, search_.rows_per_slot_)});
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
  const std::vector<SlotDecoder::Next> next = search_.decoder_.step(slots);
  copy_from_.clear();
  copy_to_.clear();
  for (Job& job : active_) advance(job, next);
  search_.decoder_.copy_rows(copy_from_, copy_to_);
}

void BeamSearch::Run::advance(Job& job, const std::vector<SlotDecoder::Next>& next) {
  std::vector<Beam::Continuation> all;
  const std::vector<Beam::Open>& open = job.beam.open();
  if (job.beam.is_forced()) {
    const std::vector<int32_t>& prefix = requests_[job.request].prefix;
    job.beam.advance({{.parent = 0, .id = prefix[static_cast<size_t>(job.beam.num_tokens())], .log_prob = 0}});
    return;
  }
  for (size_t i = 0; i < open.size(); ++i) {
    const SlotDecoder::Next& n = next[static_cast<size_t>(slot_of(job, open[i].slot))];
    const auto parent = static_cast<int64_t>(i);
    if (job.beam.must_end()) {
      all.push_back({.parent = parent, .id = SpecialIds::eos, .log_prob = open[i].log_prob + n.end, .last = n.end});
      continue;
    }
    for (const SlotDecoder::Next::Piece& piece : n.best)
      all.push_back(
          {.parent = parent, .id = piece.id, .log_prob = open[i].log_prob + piece.log_prob, .last = piece.log_prob});
  }
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
    results_[job.request] = job.beam.best();
    set_busy(job, false);
    --window_users_[static_cast<size_t>(job.window)];
    ++num_done_;
    if (on_done_) on_done_(num_done_);
    return true;
  });
}

std::vector<std::vector<Hypothesis>> BeamSearch::search(const std::vector<BeamRequest>& requests,
                                                        const std::function<void(int64_t)>& on_done) {
  return Run(*this, requests, on_done).finish();
}

}  // namespace weft
