// tests/tensor/loss/consistency_test.cpp: losses of two passes and the gradients of both, over whole and split
// vocabularies, compared with double.
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

struct PairProblem {
  const char* name;
  int64_t rows, vocabulary;
  std::vector<int32_t> targets;
  double smoothing;
  ops::ConsistencyFactors factors;
  Doubles weights = {};  // of the rows

  double weight(size_t row) const { return weights.empty() ? 1 : weights[row]; }
};

Doubles log_softmax(const Doubles& logits, int64_t row, int64_t vocabulary) {
  const auto begin = logits.begin() + row * vocabulary;
  Doubles x(begin, begin + vocabulary);
  double sum = 0;
  for (double v : x) sum += std::exp(v);
  for (double& v : x) v -= std::log(sum);
  return x;
}

double entropy(const Doubles& log_p, int32_t target, double smoothing) {
  double loss = 0;
  for (size_t c = 0; c < log_p.size(); ++c) {
    const bool is_target = static_cast<int32_t>(c) == target;
    loss -= (is_target ? 1 - smoothing : smoothing / static_cast<double>(log_p.size() - 1)) * log_p[c];
  }
  return loss;
}

double divergence(const Doubles& log_p, const Doubles& log_q) {
  double sum = 0;
  for (size_t c = 0; c < log_p.size(); ++c) sum += std::exp(log_p[c]) * (log_p[c] - log_q[c]);
  return sum;
}

struct PairLosses {
  Doubles loss, nll, divergence;
};

PairLosses pair_losses(const PairProblem& p, const Doubles& logits_p, const Doubles& logits_q) {
  PairLosses all;
  const ops::ConsistencyFactors& f = p.factors;
  for (int64_t r = 0; r < p.rows; ++r) {
    const int32_t target = p.targets[static_cast<size_t>(r)];
    const double weight = target < 0 ? 0 : p.weight(static_cast<size_t>(r));
    const Doubles log_p = log_softmax(logits_p, r, p.vocabulary), log_q = log_softmax(logits_q, r, p.vocabulary);
    const double extra = f.divergence_p * divergence(log_p, log_q) + f.divergence_q * divergence(log_q, log_p);
    const auto mean = [&](double smoothing) {
      return f.entropy_p * entropy(log_p, target, smoothing) + f.entropy_q * entropy(log_q, target, smoothing);
    };
    all.loss.push_back(weight * (mean(p.smoothing) + extra));
    all.nll.push_back(weight * mean(0));
    all.divergence.push_back(weight * extra);
  }
  return all;
}

// A rank's columns of both passes, with padding.
struct PairShard {
  Tensor p, q;
  int64_t first, valid;
};

Tensor columns_of(Workspace& w, const Tensor& logits, int64_t first, int64_t valid, int64_t columns) {
  const Tensor local = w.nan_slice(logits.rows(), columns);
  for (int64_t r = 0; r < logits.rows(); ++r)
    std::copy_n(logits.ptr<float>() + r * logits.row_stride + first, valid, local.ptr<float>() + r * local.row_stride);
  return local;
}

struct PairResult {
  std::vector<float> loss, nll, divergence, d_p, d_q;  // gradients [rows, vocabulary]
};

void take_gradient(const PairProblem& p, const Tensor& gradient, const PairShard& shard, std::vector<float>& into) {
  into.resize(static_cast<size_t>(p.rows * p.vocabulary));
  for (int64_t r = 0; r < p.rows; ++r) {
    const float* row = gradient.ptr<float>() + r * gradient.row_stride;
    std::copy_n(row, shard.valid, into.data() + r * p.vocabulary + shard.first);
    for (int64_t c = shard.valid; c < gradient.cols(); ++c) EXPECT_EQ(row[c], 0.0f) << "padding column";
  }
}

PairResult compute_pair(Workspace& w, const PairProblem& p, const Tensor& logits_p, const Tensor& logits_q,
                        int64_t ranks) {
  const int64_t columns = (p.vocabulary + ranks - 1) / ranks + 1;
  const Tensor stats = w.nans({ranks, p.rows, ops::kPairStats}), targets = w.ints(p.targets);
  const Tensor weights = p.weights.empty() ? Tensor{} : w.nans({p.rows});
  std::copy(p.weights.begin(), p.weights.end(), weights.empty() ? nullptr : weights.ptr<float>());
  std::vector<PairShard> shards;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t first = std::min(rank * columns, p.vocabulary), valid = std::min(columns, p.vocabulary - first);
    shards.push_back(
        {columns_of(w, logits_p, first, valid, columns), columns_of(w, logits_q, first, valid, columns), first, valid});
    ops::consistency_stats(w.ctx, {.logits_p = shards.back().p,
                                   .logits_q = shards.back().q,
                                   .targets = targets,
                                   .first_id = first,
                                   .valid = valid,
                                   .stats = stats.slice_rows(rank, 1).with_shape({p.rows, ops::kPairStats})});
  }
  PairResult result;
  for (const PairShard& shard : shards) {
    const Tensor loss = w.nans({p.rows}), nll = w.nans({p.rows}), extra = w.nans({p.rows});
    ops::consistency_loss(w.ctx, {.logits_p = shard.p,
                                  .logits_q = shard.q,
                                  .targets = targets,
                                  .weights = weights,
                                  .stats = stats,
                                  .first_id = shard.first,
                                  .valid = shard.valid,
                                  .vocabulary = p.vocabulary,
                                  .smoothing = static_cast<float>(p.smoothing),
                                  .factors = p.factors,
                                  .scalars = &kTestScalars,
                                  .loss = loss,
                                  .nll = nll,
                                  .divergence = extra});
    result.loss = values(loss), result.nll = values(nll), result.divergence = values(extra);
    take_gradient(p, shard.p, shard, result.d_p);
    take_gradient(p, shard.q, shard, result.d_q);
  }
  return result;
}

constexpr ops::ConsistencyFactors kSimcut{.divergence_p = 3};
constexpr ops::ConsistencyFactors kRdrop{0.5f, 0.5f, 1.25f, 1.25f};

const PairProblem kPairProblems[] = {
    {"two columns", 1, 2, {1}, 0.0, kSimcut},
    {"a row without a target", 4, 7, {6, -1, 0, 3}, 0.1, kSimcut},
    {"both divergences", 3, 21, {5, 20, 11}, 0.1, kRdrop},
    {"weights", 4, 101, {100, 50, 0, 7}, 0.2, {0.7f, 0.2f, 2, 0.4f}, {2.5, 0, 1, 0.125}},
    {"no smoothing", 2, 37, {36, 0}, 0.0, kRdrop}};

TEST(ConsistencyLoss, MatchesDoubleOnAnyNumberOfShards) {
  Workspace w;
  for (const PairProblem& p : kPairProblems) {
    const Tensor logits_p = w.random_slice(p.rows, p.vocabulary), logits_q = w.random_slice(p.rows, p.vocabulary);
    const Doubles x = to_doubles(logits_p), y = to_doubles(logits_q);
    const auto total = [&](const Doubles& of_p, const Doubles& of_q) {
      double sum = 0;
      for (double l : pair_losses(p, of_p, of_q).loss) sum += 0.5 * l;
      return sum;
    };
    const PairLosses want = pair_losses(p, x, y);
    const Doubles d_p = numerical_gradient([&](const Doubles& v) { return total(v, y); }, x);
    const Doubles d_q = numerical_gradient([&](const Doubles& v) { return total(x, v); }, y);
    for (const int64_t ranks : {1, 2, 3, 5}) {
      SCOPED_TRACE(fmt::format("{} on {} ranks", p.name, ranks));
      const PairResult got = compute_pair(w, p, logits_p, logits_q, ranks);
      expect_close(got.loss, want.loss, tolerance(p.vocabulary, 4), "loss");
      expect_close(got.nll, want.nll, tolerance(p.vocabulary, 0.5), "nll");
      expect_close(got.divergence, want.divergence, tolerance(p.vocabulary, 4), "divergence");
      expect_close(got.d_p, d_p, tolerance(p.vocabulary, 0.1), "gradient of p");
      expect_close(got.d_q, d_q, tolerance(p.vocabulary, 0.1), "gradient of q");
    }
  }
}

TEST(ConsistencyLoss, OfEqualLogitsIsTheCrossEntropy) {
  Workspace w;
  const PairProblem p{"equal", 3, 33, {3, 8, 0}, 0.1, kSimcut};
  const Tensor logits = w.random_slice(p.rows, p.vocabulary);
  const PairResult got = compute_pair(w, p, logits, logits, 2);
  expect_close(got.divergence, Doubles(3, 0.0), 1e-5, "divergence");
  expect_close(got.d_q, Doubles(got.d_q.size(), 0.0), 1e-5, "gradient of q");
}

TEST(ConsistencyLoss, OfWideRowsMatchesDouble) {
  Workspace w;
  const PairProblem p{"wide", 2, 12291, {12290, 4097}, 0.1, kRdrop};
  const Tensor logits_p = w.random({p.rows, p.vocabulary}, 5), logits_q = w.random({p.rows, p.vocabulary}, 5);
  const PairLosses want = pair_losses(p, to_doubles(logits_p), to_doubles(logits_q));
  const PairResult got = compute_pair(w, p, logits_p, logits_q, 1);
  for (size_t r = 0; r < want.loss.size(); ++r) {
    EXPECT_NEAR(got.loss[r], want.loss[r], 2e-5 * want.loss[r]);
    EXPECT_NEAR(got.divergence[r], want.divergence[r], 2e-5 * want.loss[r]);
  }
}

TEST(ConsistencyLoss, ShowsNaN) {
  Workspace w;
  const PairProblem p{"nan", 1, 9, {3}, 0.1, kSimcut};
  const Tensor logits_p = w.random({1, 9}), logits_q = w.random({1, 9});
  logits_q.ptr<float>()[5] = std::nanf("");
  EXPECT_TRUE(std::isnan(compute_pair(w, p, logits_p, logits_q, 1).loss[0]));
}

}  // namespace
}  // namespace weft::testing
