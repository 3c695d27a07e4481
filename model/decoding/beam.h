// model/decoding/beam.h: defines the beam of one sentence: its open and finished hypotheses, and the end of the search.
//
// With BeamKind::shrinking, open and finished hypotheses share `beam` places, so beam 1 is exactly greedy decoding. In
// each step, the continuations with the highest sums of log probabilities fill the open places (in ties, the better
// parent wins, then the lower id). Finished hypotheses are ranked by score = log probability / penalty(tokens + 1),
// where the tokens + 1 include eos. A forced prefix adds no log probability and, with LengthPenalty::gnmt, no length.
//
// The search ends when no place is open, or when `nbest` hypotheses are finished and no open hypothesis can beat the
// worst of the best `nbest`. Because its log probability s can only decrease, an open hypothesis scores at most s /
// penalty(longest) or, if alpha < 0, s / penalty(shortest possible). So the early end changes no result.
//
// The other kinds are those of transformers (5.23, generation/utils.py, _beam_search). A finished hypothesis leaves its
// place to an open one; it counts only if it is among the best `beam` continuations of its step. With fixed, the search
// ends when `beam` hypotheses are finished and the best open one, at its present length, does not beat the worst of
// them; this can miss longer ones. With first, it ends when `beam` are finished ("first come, first served", Kasai et
// al. 2022), as in fairseq.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/enum_names.h"

namespace weft {

// gnmt: penalty(n) = ((5 + n) / 6)^alpha (Wu et al. 2016). power: n^alpha, as in Marian, fairseq, transformers and
// CTranslate2.
enum class LengthPenalty : uint8_t { gnmt, power };
constexpr EnumNames<LengthPenalty, 2> enum_names(LengthPenalty) {
  return {{{"gnmt", LengthPenalty::gnmt}, {"power", LengthPenalty::power}}};
}

enum class BeamKind : uint8_t { shrinking, fixed, first };
constexpr EnumNames<BeamKind, 3> enum_names(BeamKind) {
  return {{{"shrinking", BeamKind::shrinking}, {"fixed", BeamKind::fixed}, {"first", BeamKind::first}}};
}

struct BeamOptions {
  int64_t beam = 5;
  BeamKind kind = BeamKind::shrinking;
  LengthPenalty length_penalty_kind = LengthPenalty::gnmt;
  double length_penalty = 0.6;  // alpha
  int64_t nbest = 1;            // hypotheses to return, at most the beam
};

// Of a hypothesis with `tokens` tokens, eos included, after `forced` tokens of a prefix.
double length_penalty(const BeamOptions& options, int64_t tokens, int64_t forced);
int64_t continuations_per_hypothesis(const BeamOptions& options);  // that Beam::advance() needs

struct Hypothesis {
  std::vector<int32_t> tokens;    // includes the forced prefix, but not bos and eos
  double log_prob = 0;            // natural logarithm, summed over the tokens after the prefix and eos
  double score = 0;               // log_prob / penalty(tokens + 1)
  std::vector<double> log_probs;  // of each token after the prefix, and of eos; log_prob is their sum, in this order
};

class Beam {
 public:
  // After `max_tokens` tokens, only eos may follow. The caller chooses the first `forced` tokens (at most max_tokens).
  // For each of them, advance() gets one continuation with log probability 0.
  Beam(const BeamOptions& options, int64_t max_tokens, int64_t forced = 0);

  struct Open {
    std::vector<int32_t> tokens;
    double log_prob = 0;
    int64_t slot = 0;   // less than `beam`; where the decoder keeps this hypothesis's keys and values
    int64_t last = -1;  // index of its last predicted token in predicted_, or -1
  };
  const std::vector<Open>& open() const { return open_; }       // best first; all have the same length
  int64_t places() const;                                       // for open hypotheses
  int64_t num_tokens() const { return num_tokens_; }            // tokens per open hypothesis
  bool must_end() const { return num_tokens_ == max_tokens_; }  // advance() then needs only continuations by eos
  int64_t max_tokens() const { return max_tokens_; }
  bool is_forced() const { return num_tokens_ < forced_; }  // true if the caller chooses the next token

  struct Continuation {
    int64_t parent = 0;   // index into open()
    int32_t id = 0;       // eos ends the hypothesis
    double log_prob = 0;  // log probability of all tokens of the hypothesis
    double last = 0;      // log probability of `id` alone
  };
  struct SlotCopy {
    int64_t from = 0, to = 0;
  };
  // REQUIRES: `all` contains at least the best continuations_per_hypothesis() of each open hypothesis, in any order.
  // Returns the slot copies to make. The best child stays in its parent's slot, so no `to` is the `from` of another
  // copy.
  std::vector<SlotCopy> advance(std::vector<Continuation> all);

  bool done() const;
  std::vector<Hypothesis> best() const;  // at most `nbest`, best first

 private:
  struct Predicted {      // a token after the prefix; hypotheses share those that they have in common
    int64_t before = -1;  // index of the predicted token before it, or -1
    double log_prob = 0;
  };
  void finish(const Continuation& c);
  double penalty(int64_t tokens) const { return length_penalty(options_, tokens - forced_, forced_); }
  bool shrinks() const { return options_.kind == BeamKind::shrinking; }

  BeamOptions options_;
  int64_t max_tokens_, forced_, num_tokens_ = 0;
  std::vector<Open> open_;
  std::vector<Predicted> predicted_;
  std::vector<Hypothesis> finished_;  // best first
};

}  // namespace weft
