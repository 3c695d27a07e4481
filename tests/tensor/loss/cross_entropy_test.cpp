// tests/tensor/loss/cross_entropy_test.cpp: loss and gradient over whole and split vocabularies, compared with
// double.
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

struct Problem {
  int64_t rows, vocabulary;
  std::vector<int32_t> targets;
  double smoothing;
  Doubles weights = {};  // of the rows

  double weight(size_t row) const { return weights.empty() ? 1 : weights[row]; }
};

Doubles losses(const Problem& p, const Doubles& logits, double smoothing) {
  Doubles out;
  const auto v = static_cast<size_t>(p.vocabulary);
  for (size_t r = 0; r < p.targets.size(); ++r) {
    double sum = 0, loss = 0;
    for (size_t c = 0; c < v; ++c) sum += std::exp(logits[r * v + c]);
    for (size_t c = 0; c < v; ++c) {
      const double off = v > 1 ? smoothing / static_cast<double>(v - 1) : 0;
      const double wanted = static_cast<int32_t>(c) == p.targets[r] ? (v > 1 ? 1 - smoothing : 1) : off;
      loss -= wanted * (logits[r * v + c] - std::log(sum));
    }
    out.push_back(p.targets[r] < 0 ? 0 : p.weight(r) * loss);
  }
  return out;
}

struct Result {
  std::vector<float> loss, nll, gradient;  // gradient [rows, vocabulary]
};

// Computes on `ranks` shards of `shard` columns each, the last of which may have padding. A single shard uses
// either statistics computed before, as several do, or one pass.
Result compute(Workspace& w, const Problem& p, const Tensor& logits, int64_t ranks, bool backward = true,
               bool at_once = false) {
  const int64_t shard = (p.vocabulary + ranks - 1) / ranks + 1;
  const Tensor stats = w.nans({ranks, p.rows, 4}), targets = w.ints(p.targets);
  std::vector<ops::SoftmaxStats> parts;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const int64_t first = std::min(rank * shard, p.vocabulary), valid = std::min(shard, p.vocabulary - first);
    const Tensor local = w.nan_slice(p.rows, shard);
    for (int64_t r = 0; r < p.rows; ++r) {
      std::copy_n(logits.ptr<float>() + r * logits.row_stride + first, valid,
                  local.ptr<float>() + r * local.row_stride);
    }
    parts.push_back({.logits = local,
                     .targets = targets,
                     .first_id = first,
                     .valid = valid,
                     .stats = stats.slice_rows(rank, 1).with_shape({p.rows, 4})});
    ops::softmax_stats(w.ctx, parts.back());
  }
  const Tensor weights = p.weights.empty() ? Tensor{} : w.nans({p.rows});
  std::copy(p.weights.begin(), p.weights.end(), weights.empty() ? nullptr : weights.ptr<float>());
  Result result;
  result.gradient.resize(static_cast<size_t>(p.rows * p.vocabulary));
  for (const ops::SoftmaxStats& part : parts) {
    const Tensor loss = w.nans({p.rows}), nll = w.nans({p.rows});
    ops::cross_entropy(w.ctx, {.logits = part.logits,
                               .targets = targets,
                               .weights = weights,
                               .stats = at_once ? Tensor{} : stats,
                               .first_id = part.first_id,
                               .valid = part.valid,
                               .vocabulary = p.vocabulary,
                               .smoothing = static_cast<float>(p.smoothing),
                               .backward = backward,
                               .scalars = &kTestScalars,
                               .loss = loss,
                               .nll = nll});
    result.loss = values(loss);
    result.nll = values(nll);
    for (int64_t r = 0; r < p.rows; ++r) {
      const float* row = part.logits.ptr<float>() + r * part.logits.row_stride;
      std::copy_n(row, part.valid, result.gradient.data() + r * p.vocabulary + part.first_id);
      for (int64_t c = part.valid; backward && c < shard; ++c) EXPECT_EQ(row[c], 0.0f) << "padding column";
    }
  }
  return result;
}

const Problem kProblems[] = {{1, 1, {0}, 0.1},
                             {1, 2, {1}, 0.0},
                             {4, 7, {6, -1, 0, 3}, 0.1},
                             {3, 21, {5, 20, 11}, 0.0},
                             {2, 101, {100, 50}, 0.2},
                             {2, 5, {-1, -1}, 0.1},
                             {4, 7, {6, -1, 0, 3}, 0.1, {2.5, 7, 0, 0.125}},
                             {3, 101, {100, 0, 50}, 0.0, {0.75, 3, 1e-3}}};

TEST(CrossEntropy, MatchesDoubleOnAnyNumberOfShards) {
  Workspace w;
  for (const Problem& p : kProblems) {
    const Tensor logits = w.random_slice(p.rows, p.vocabulary);
    const Doubles x = to_doubles(logits);
    const auto total = [&](const Doubles& v) {
      double sum = 0;
      for (double l : losses(p, v, p.smoothing)) sum += 0.5 * l;
      return sum;
    };
    const Doubles gradient = numerical_gradient(total, x);
    for (int64_t ranks : {1, 2, 3, 5}) {
      SCOPED_TRACE(std::to_string(p.vocabulary) + " columns on " + std::to_string(ranks) + " ranks");
      const Result result = compute(w, p, logits, ranks);
      if (p.vocabulary == 1) {
        EXPECT_NEAR(result.loss[0], 0, 1e-7);
        EXPECT_NEAR(result.gradient[0], 0, 1e-7);
        continue;
      }
      expect_close(result.loss, losses(p, x, p.smoothing), tolerance(p.vocabulary, 0.5), "loss");
      expect_close(result.nll, losses(p, x, 0), tolerance(p.vocabulary, 0.5), "nll");
      expect_close(result.gradient, gradient, tolerance(p.vocabulary, 0.02), "gradient");
    }
  }
}

TEST(CrossEntropy, GivesTheSameBitsFromAWholeRowAtOnce) {
  Workspace w;
  std::vector<Problem> problems(std::begin(kProblems), std::end(kProblems));
  problems.push_back({5, 3333, {1, -1, 3000, 3332, 0}, 0.1});
  for (const Problem& p : problems) {
    const Tensor logits = w.random_slice(p.rows, p.vocabulary);
    for (const bool backward : {true, false}) {
      const Result want = compute(w, p, logits, 1, backward),
                   got = compute(w, p, logits, 1, backward, /*at_once=*/true);
      EXPECT_EQ(got.loss, want.loss);
      EXPECT_EQ(got.nll, want.nll);
      EXPECT_EQ(got.gradient, want.gradient);
    }
  }
}

// Aligned rows of a padded vocabulary, narrower and wider than what a GPU keeps in registers: 8 columns of every 4096
// in each of 512 threads. There is a target in each of these ranges.
TEST(CrossEntropy, OfWideRowsMatchesDouble) {
  for (const auto& [vocabulary, padded] :
       {std::pair<int64_t, int64_t>{8195, 8200}, {12291, 12296}, {24579, 24584}, {30001, 30016}, {33003, 33008}}) {
    SCOPED_TRACE(vocabulary);
    Workspace w;
    std::vector<int32_t> targets = {static_cast<int32_t>(vocabulary - 1)};
    for (int32_t target = 9; target < vocabulary; target += 4096) targets.push_back(target);
    const auto rows = static_cast<int64_t>(targets.size());
    const Tensor logits = w.random({rows, padded}, 5), loss = w.nans({rows}), nll = w.nans({rows});
    const Doubles x = to_doubles(logits);
    ops::cross_entropy(w.ctx, {.logits = logits,
                               .targets = w.ints(targets),
                               .valid = vocabulary,
                               .vocabulary = vocabulary,
                               .smoothing = 0.1f,
                               .scalars = &kTestScalars,
                               .loss = loss,
                               .nll = nll});
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (int64_t c = 0; c < vocabulary; ++c) sum += std::exp(x[r * padded + c]);
      EXPECT_NEAR(values(nll)[r], std::log(sum) - x[r * padded + targets[r]], 1e-5);
      Doubles want(padded, 0.0);
      for (int64_t c = 0; c < vocabulary; ++c)
        want[c] = 0.5 * (std::exp(x[r * padded + c]) / sum -
                         (c == targets[r] ? 0.9 : 0.1 / static_cast<double>(vocabulary - 1)));
      const float* const got = logits.ptr<float>() + r * padded;
      expect_close(std::vector<float>(got, got + padded), want, tolerance(vocabulary, 0.02), "gradient");
    }
  }
}

TEST(CrossEntropy, WithWeightsOfOneGivesTheBitsWithoutWeights) {
  Workspace w;
  for (Problem p : kProblems) {
    p.weights = {};
    const Tensor logits = w.random_slice(p.rows, p.vocabulary);
    for (const bool at_once : {false, true}) {
      const Result want = compute(w, p, logits, 1, /*backward=*/true, at_once);
      Problem weighted = p;
      weighted.weights.assign(static_cast<size_t>(p.rows), 1);
      const Result got = compute(w, weighted, logits, 1, /*backward=*/true, at_once);
      EXPECT_EQ(got.loss, want.loss);
      EXPECT_EQ(got.nll, want.nll);
      EXPECT_EQ(got.gradient, want.gradient);
    }
  }
}

TEST(CrossEntropy, OfAPartNeedsTheOthersStatistics) {
  Workspace w;
  EXPECT_THROW(compute(w, kProblems[2], w.random({4, 7}), 2, /*backward=*/true, /*at_once=*/true), Error);
}

TEST(CrossEntropy, LeavesLogitsAloneWithoutBackward) {
  Workspace w;
  const Problem& p = kProblems[2];
  const Tensor logits = w.random({p.rows, p.vocabulary});
  EXPECT_EQ(compute(w, p, logits, 2, false).gradient, values(logits));
}

TEST(CrossEntropy, SurvivesHugeLogits) {
  Workspace w;
  const Problem p{2, 9, {3, 8}, 0.1};
  const Tensor logits = w.random({2, 9}, 1e4f);
  const Result result = compute(w, p, logits, 2);
  for (float x : result.loss) EXPECT_TRUE(std::isfinite(x));
  for (float x : result.gradient) EXPECT_TRUE(std::isfinite(x));
}

TEST(CrossEntropy, ShowsNaN) {
  Workspace w;
  const Problem p{1, 9, {3}, 0.1};
  const Tensor logits = w.random({1, 9});
  logits.ptr<float>()[5] = std::nanf("");
  EXPECT_TRUE(std::isnan(compute(w, p, logits, 1).loss[0]));
}

TEST(SoftmaxStats, NeedNoTargetsForDecoding) {
  Workspace w;
  const Tensor logits = w.random({2, 5}), stats = w.nans({2, 4});
  ops::softmax_stats(w.ctx, {.logits = logits, .valid = 5, .stats = stats});
  for (int r = 0; r < 2; ++r) {
    double sum = 0;
    for (int c = 0; c < 5; ++c) sum += std::exp(static_cast<double>(logits.ptr<float>()[r * 5 + c]));
    EXPECT_NEAR(stats.ptr<float>()[r * 4] + std::log(stats.ptr<float>()[r * 4 + 1]), std::log(sum), 1e-6);
    EXPECT_EQ(stats.ptr<float>()[r * 4 + 3], 0.0f);
  }
}

TEST(SoftmaxStats, OfALongRowAreThoseInDouble) {
  Workspace w;
  const int64_t cols = 5000;
  const Tensor logits = w.random_slice(2, cols), stats = w.nans({2, 4});
  ops::softmax_stats(w.ctx, {.logits = logits, .targets = w.ints({4999, 0}), .valid = cols, .stats = stats});
  const Doubles x = to_doubles(logits);
  for (int64_t r = 0; r < 2; ++r) {
    const auto row = x.begin() + r * cols;
    const double max = *std::max_element(row, row + cols);
    double exps = 0, sum = 0;
    for (int64_t c = 0; c < cols; ++c) exps += std::exp(row[c] - max), sum += row[c];
    const float* got = stats.ptr<float>() + r * 4;
    EXPECT_EQ(got[0], static_cast<float>(max));
    EXPECT_NEAR(got[1], exps, 1e-5 * exps);
    EXPECT_NEAR(got[2], sum, 1e-3);
    EXPECT_EQ(got[3], static_cast<float>(row[r == 0 ? 4999 : 0]));
  }
}

TEST(SoftmaxStats, LogitsOfMinusInfinityAddNothing) {  // in any position
  Workspace w;
  for (const int64_t first : {0, 8, 24}) {
    const Tensor logits = w.filled({1, 40}, 2), stats = w.nans({1, 4});
    std::fill_n(logits.ptr<float>() + first, 16, -std::numeric_limits<float>::infinity());
    ops::softmax_stats(w.ctx, {.logits = logits, .valid = 40, .stats = stats});
    EXPECT_EQ(stats.ptr<float>()[0], 2.0f);
    EXPECT_EQ(stats.ptr<float>()[1], 24.0f);
  }
}

TEST(CrossEntropy, IsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    const Problem p{9, 3333, {1, 2, 3, 4, 5, 6, 7, -1, 300}, 0.1};
    const Result r = compute(w, p, w.random({9, 3333}), 2);
    return std::string(reinterpret_cast<const char*>(r.gradient.data()), r.gradient.size() * 4);
  });
}

}  // namespace
}  // namespace weft::testing
