// trainer/metrics/ter_shifts.cpp: applies the best shift in each round until no shift helps or the limit is reached.
#include "trainer/metrics/ter_shifts.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "trainer/metrics/ter_edit_distance.h"

namespace weft {
namespace {

constexpr int kMaxShiftLength = 10;
constexpr int kMaxShiftDistance = 50;
constexpr int kMaxCandidates = 1000;  // limit over all rounds

struct Shift {
  int gain = 0;
  int start = 0, length = 0;  // the run of hypothesis words
  int target = 0;             // position of the word before which the run is moved

  // The better shift has the larger gain; on a tie, the longer run, then the earlier start, then the earlier target.
  bool operator<(const Shift& other) const {
    return std::tuple(gain, length, -start, -target) <
           std::tuple(other.gain, other.length, -other.start, -other.target);
  }
};

std::vector<int> shifted(const std::vector<int>& words, const Shift& shift) {
  const auto run = words.begin() + shift.start, run_end = run + shift.length;
  std::vector<int> result(words.begin(), run);
  result.insert(result.end(), run_end, words.end());
  // As in Tercom, a target inside the run or at its end is a position in the words without the run.
  const int position = shift.target > shift.start + shift.length
                           ? shift.target - shift.length
                           : std::min<int>(shift.target, static_cast<int>(std::ssize(result)));
  result.insert(result.begin() + position, run, run_end);
  return result;
}

struct Alignment {
  std::vector<int> hypothesis_of;  // hypothesis word aligned with or before each reference word; -1: none
  std::vector<bool> hypothesis_wrong, reference_wrong;
};

Alignment align(const std::vector<Edit>& path) {
  Alignment alignment;
  int position = -1;
  for (const Edit edit : path) {
    const bool wrong = edit != Edit::match;
    if (edit != Edit::insert) {
      ++position;
      alignment.hypothesis_wrong.push_back(wrong);
    }
    if (edit != Edit::remove) {
      alignment.hypothesis_of.push_back(position);
      alignment.reference_wrong.push_back(wrong);
    }
  }
  return alignment;
}

bool any_in(const std::vector<bool>& flags, int start, int length) {
  return std::find(flags.begin() + start, flags.begin() + start + length, true) != flags.begin() + start + length;
}

class ShiftSearch {
 public:
  ShiftSearch(std::vector<int> words, const std::vector<int>& reference)
      : words_(std::move(words)), reference_(reference), distance_(reference) {}

  int64_t edits() {
    int64_t num_shifts = 0;
    // The round that exhausts the candidates does not apply its best shift.
    for (std::optional<Shift> best; (best = best_shift()) && !exhausted() && best->gain > 0; ++num_shifts) {
      words_ = shifted(words_, *best);
    }
    return num_shifts + distance_(words_);
  }

 private:
  bool exhausted() const { return num_candidates_ >= kMaxCandidates; }

  std::optional<Shift> best_shift() {
    current_distance_ = distance_(words_);
    alignment_ = align(distance_.path());
    std::optional<Shift> best;
    const int num_words = static_cast<int>(words_.size()), num_reference = static_cast<int>(reference_.size());
    for (int start = 0; start < num_words; ++start) {
      const int first_goal = std::max(0, start - kMaxShiftDistance);
      const int end_goal = std::min(num_reference, start + kMaxShiftDistance + 1);
      for (int goal = first_goal; goal < end_goal; ++goal) {
        const int longest = std::min({kMaxShiftLength, num_words - start, num_reference - goal});
        for (int length = 1; length <= longest && words_[start + length - 1] == reference_[goal + length - 1];
             ++length) {
          try_targets(start, goal, length, best);
          if (exhausted()) return best;
        }
      }
    }
    return best;
  }

  // Tries to move the run behind each hypothesis word aligned with the same run in the reference or the word before it.
  void try_targets(int start, int goal, int length, std::optional<Shift>& best) {
    if (!any_in(alignment_.hypothesis_wrong, start, length) || !any_in(alignment_.reference_wrong, goal, length))
      return;
    const int now_at_goal = alignment_.hypothesis_of[goal];
    if (now_at_goal >= start && now_at_goal < start + length) return;
    int previous = -1;
    for (int r = goal - 1; r < goal + length; ++r) {
      Shift shift{.start = start, .length = length, .target = r < 0 ? 0 : alignment_.hypothesis_of[r] + 1};
      if (shift.target == previous) continue;
      previous = shift.target;
      shift.gain = current_distance_ - distance_(shifted(words_, shift));
      ++num_candidates_;
      if (!best || *best < shift) best = shift;
    }
  }

  std::vector<int> words_;
  const std::vector<int>& reference_;
  BeamEditDistance distance_;
  Alignment alignment_;
  int current_distance_ = 0;
  int num_candidates_ = 0;
};

}  // namespace

int64_t translation_edits(std::vector<int> hypothesis, const std::vector<int>& reference) {
  if (reference.empty()) return std::ssize(hypothesis);  // no shift is possible
  return ShiftSearch(std::move(hypothesis), reference).edits();
}

}  // namespace weft
