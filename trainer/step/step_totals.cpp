// trainer/step/step_totals.cpp: exchanges the numbers with one all-gather, and reduces them on each rank.
#include "trainer/step/step_totals.h"

#include <algorithm>

namespace weft {
namespace {

// Packs this rank's numbers, with 0 for each number to which this rank does not contribute.
class Packed {
 public:
  Packed(const StepTotals& own, const Mesh& mesh, bool sharded)
      : has_blocks_(mesh.tp().is_main_rank()), has_squares_(sharded || mesh.dp().is_main_rank()) {
    for_each_total(own, *this);
  }
  std::vector<double>& numbers() { return numbers_; }

  void sum(auto number, TotalOf ranks) { numbers_.push_back(has(ranks) ? static_cast<double>(number) : 0); }
  void largest(auto number, TotalOf ranks) { sum(number, ranks); }
  void list(const std::vector<double>& own) { numbers_.push_back(own.empty() ? 0 : own.front()); }

 private:
  bool has(TotalOf ranks) const {
    return ranks == TotalOf::each_rank || (ranks == TotalOf::blocks && has_blocks_) ||
           (ranks == TotalOf::split_squares && has_squares_) ||
           (ranks == TotalOf::whole_squares && has_squares_ && has_blocks_);
  }

  bool has_blocks_, has_squares_;
  std::vector<double> numbers_;
};

// Reduces the numbers of all ranks. `all` contains `size` numbers per rank, in rank order.
class Reduced {
 public:
  Reduced(const std::vector<double>& all, size_t size) : all_(all), size_(size) {}

  void sum(auto& total, TotalOf) {
    double sum = 0;
    for (size_t i = next_++; i < all_.size(); i += size_) sum += all_[i];
    assign(total, sum);
  }
  void largest(auto& total, TotalOf) {
    double most = 0;
    for (size_t i = next_++; i < all_.size(); i += size_) most = std::max(most, all_[i]);
    assign(total, most);
  }
  void list(std::vector<double>& values) {
    values.clear();
    for (size_t i = next_++; i < all_.size(); i += size_) values.push_back(all_[i]);
  }

 private:
  template <typename T>
  static void assign(T& total, double value) {
    if constexpr (std::is_enum_v<T>)
      total = static_cast<T>(static_cast<std::underlying_type_t<T>>(value));
    else
      total = static_cast<T>(value);
  }

  const std::vector<double>& all_;
  size_t size_, next_ = 0;
};

}  // namespace

StepTotals exchange_totals(StepTotals own, const Mesh& mesh, bool sharded) {
  Communicator& world = mesh.world();
  std::vector<double> mine = Packed(own, mesh, sharded).numbers();
  const auto count = static_cast<int64_t>(mine.size()), ranks = static_cast<int64_t>(world.size());
  std::vector<double> all(mine.size() * static_cast<size_t>(ranks));
  world.all_gather(Tensor(mine.data(), {count}, DType::f64), Tensor(all.data(), {ranks, count}, DType::f64));
  for_each_total(own, Reduced(all, mine.size()));
  return own;
}

double StepTotals::fill(const BatchConfig& batch) const {
  return static_cast<double>(source_tokens + target_tokens) /
         static_cast<double>(batch.blocks * (batch.source_rows + batch.rows));
}

int64_t bytes_of_totals() {
  struct Counter {
    int64_t numbers = 0;
    void sum(double, TotalOf) { ++numbers; }
    void largest(bool, TotalOf) { ++numbers; }
    void largest(StopRequest, TotalOf) { ++numbers; }
    void list(const std::vector<double>&) { ++numbers; }
  } counter;
  const StepTotals none;
  for_each_total(none, counter);
  return counter.numbers * static_cast<int64_t>(sizeof(double));
}

void StepSums::add(Context& ctx, const RowLoss& of_block) const {
  ops::sum(ctx, {.x = of_block.loss, .y = loss()});
  ops::sum(ctx, {.x = of_block.nll, .y = nll()});
  if (!of_block.divergence.empty()) ops::sum(ctx, {.x = of_block.divergence, .y = divergence()});
}

void StepSums::read(Context& ctx, StepTotals& into) const {
  const std::vector<double> sums = sums_.read(ctx);
  into.loss = sums[0], into.nll = sums[1], into.split_squares = sums[2], into.whole_squares = sums[3];
  into.divergence = sums[4];
  into.not_finite = !std::isfinite(into.gradient_square());
}

}  // namespace weft
