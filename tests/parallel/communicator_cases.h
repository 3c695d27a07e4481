// tests/parallel/communicator_cases.h: requirements on every communicator, as functions that throw on
// failure.
//
// The same cases run in a group of one, on thread ranks (communicator_test.cpp), under mpirun
// (mpi_check.cpp), and over NCCL (nccl_check.cpp, tests/emulation/nccl). Each compares bit by bit with the
// direct computation in rank order, so all communicators give the same bits, except NCCL, which sums in its
// own order.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/error.h"
#include "tensor/half.h"
#include "tensor/random.h"

namespace weft::testing {

inline void expect(bool ok, const std::string& what) {
  if (!ok) throw std::runtime_error(what);
}

inline const std::vector<int64_t> kLengths = {0, 1, 2, 3, 4, 5, 7, 16, 17, 63, 2047, 2048, 2049, 10007};

// Rank `rank`'s input at `i`: magnitudes differ so much that another order of additions gives other bits.
template <typename T>
T input(int rank, int64_t i) {
  const PhiloxBits bits = philox(17, static_cast<uint64_t>(i), 0, static_cast<uint32_t>(rank));
  if constexpr (std::is_integral_v<T>) return static_cast<T>(bits.v[0] >> 4) - (1 << 27);
  const double sign = bits.v[1] % 2 ? 1 : -1;
  return static_cast<T>(sign * (bits.v[0] + 1.0) * std::ldexp(1.0, static_cast<int>(bits.v[2] % 24)));
}

template <typename T>
std::vector<T> inputs(int rank, int64_t n, int64_t first = 0) {
  std::vector<T> x(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = input<T>(rank, first + i);
  return x;
}

template <typename T>
std::vector<T> rank_order_sum(int size, int64_t n, int64_t first = 0) {
  std::vector<T> y = inputs<T>(0, n, first);
  for (int r = 1; r < size; ++r) {
    for (int64_t i = 0; i < n; ++i) y[static_cast<size_t>(i)] += input<T>(r, first + i);
  }
  return y;
}

template <typename T>
Tensor view(std::vector<T>& x) {
  return Tensor(x.data(), {static_cast<int64_t>(x.size())}, DTypeOf<T>::value);
}

template <typename T>
void expect_bits(const std::vector<T>& got, const std::vector<T>& wanted, const std::string& what) {
  expect(got.size() == wanted.size(), what + ": length");
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &wanted[i], sizeof(T)) == 0) continue;
    expect(false, fmt::format("{}: element {} of {} is {}, not {}", what, i, got.size(), got[i], wanted[i]));
  }
}

inline bool sums_in_rank_order = true;  // of the communicator under test

// Expects the sum of the inputs from `first` on: the same bits or, for another order, the same within
// rounding.
template <typename T>
void expect_sum(const std::vector<T>& got, int size, int64_t first, const std::string& what) {
  const auto n = static_cast<int64_t>(got.size());
  const std::vector<T> wanted = rank_order_sum<T>(size, n, first);
  if (sums_in_rank_order || std::is_integral_v<T>) return expect_bits(got, wanted, what);
  for (int64_t i = 0; i < n; ++i) {
    T magnitude = 0;
    for (int r = 0; r < size; ++r) magnitude += std::abs(input<T>(r, first + i));
    const T bound = static_cast<T>(size) * std::numeric_limits<T>::epsilon() * magnitude;
    const T x = got[static_cast<size_t>(i)], y = wanted[static_cast<size_t>(i)];
    expect(std::abs(x - y) <= bound, fmt::format("{}: element {} of {} is {}, not {}", what, i, n, x, y));
  }
}

template <typename T>
void all_reduce_sum_of(Communicator& group) {
  for (const int64_t n : kLengths) {
    std::vector<T> x = inputs<T>(group.rank(), n);
    group.all_reduce(view(x));
    expect_sum(x, group.size(), 0, fmt::format("sum of {} {}", n, name_of(DTypeOf<T>::value)));
  }
}

template <typename T>
void all_reduce_max_of(Communicator& group) {
  for (const int64_t n : kLengths) {
    std::vector<T> x = inputs<T>(group.rank(), n), wanted = inputs<T>(0, n);
    for (int r = 1; r < group.size(); ++r) {
      for (int64_t i = 0; i < n; ++i) {
        wanted[static_cast<size_t>(i)] = std::max(wanted[static_cast<size_t>(i)], input<T>(r, i));
      }
    }
    group.all_reduce(view(x), ReduceOp::max);
    expect_bits(x, wanted, fmt::format("max of {} {}", n, name_of(DTypeOf<T>::value)));
  }
}

inline void all_reduce_sums(Communicator& group) {
  all_reduce_sum_of<float>(group);
  all_reduce_sum_of<double>(group);
  all_reduce_sum_of<int32_t>(group);
}

template <typename T>
void all_reduce_sum_of_halves(Communicator& group, float epsilon) {
  for (const int64_t n : kLengths) {
    const auto rounded = [n](int rank) {
      std::vector<T> x(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i) x[static_cast<size_t>(i)] = from_float<T>(std::ldexp(input<float>(rank, i), -50));
      return x;
    };
    std::vector<T> x = rounded(group.rank());
    group.all_reduce(view(x));
    std::vector<float> sum(static_cast<size_t>(n)), magnitude(static_cast<size_t>(n));
    for (int r = 0; r < group.size(); ++r) {
      const std::vector<T> part = rounded(r);
      for (size_t i = 0; i < part.size(); ++i) sum[i] += to_float(part[i]), magnitude[i] += std::abs(to_float(part[i]));
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const float roundings = sums_in_rank_order ? 0 : static_cast<float>(group.size());
      expect(std::abs(to_float(x[i]) - to_float(from_float<T>(sum[i]))) <= roundings * epsilon * magnitude[i],
             fmt::format("sum of {} {}: element {} is {}, not {}", n, name_of(DTypeOf<T>::value), i, to_float(x[i]),
                         sum[i]));
    }
  }
}

inline void all_reduce_sums_halves_in_f32(Communicator& group) {
  all_reduce_sum_of_halves<BFloat16>(group, 0x1p-8f);
  all_reduce_sum_of_halves<Float16>(group, 0x1p-10f);
}

inline void every_rank_has_the_same_sum(Communicator& group) {
  for (const int64_t n : kLengths) {
    std::vector<float> x = inputs<float>(group.rank(), n), all(static_cast<size_t>(n * group.size())), wanted;
    group.all_reduce(view(x));
    group.all_gather(view(x), Tensor(all.data(), {group.size(), n}));
    for (int r = 0; r < group.size(); ++r) wanted.insert(wanted.end(), x.begin(), x.end());
    expect_bits(all, wanted, fmt::format("sums of {} on all ranks", n));
  }
}

inline void all_reduce_finds_the_maximum(Communicator& group) {
  all_reduce_max_of<float>(group);
  all_reduce_max_of<double>(group);
  all_reduce_max_of<int32_t>(group);
}

inline void a_nan_is_the_maximum_everywhere(Communicator& group) {
  for (int where = 0; where < group.size(); ++where) {
    std::vector<float> x(5, 1.0f);
    if (group.rank() == where) x[3] = std::numeric_limits<float>::quiet_NaN();
    group.all_reduce(view(x), ReduceOp::max);
    expect(std::isnan(x[3]) && x[2] == 1.0f, fmt::format("NaN of rank {} was lost or spread", where));
  }
}

inline void all_gather_keeps_rank_order(Communicator& group) {
  for (const int64_t n : kLengths) {
    std::vector<float> x = inputs<float>(group.rank(), n), y(static_cast<size_t>(n * group.size())), wanted;
    for (int r = 0; r < group.size(); ++r) {
      const std::vector<float> part = inputs<float>(r, n);
      wanted.insert(wanted.end(), part.begin(), part.end());
    }
    group.all_gather(view(x), Tensor(y.data(), {group.size(), n}));
    expect_bits(y, wanted, fmt::format("all_gather of {}", n));
    expect_bits(x, inputs<float>(group.rank(), n), "all_gather's input");
  }
}

inline void reduce_scatter_sums_each_ranks_part(Communicator& group) {
  for (const int64_t n : kLengths) {
    std::vector<float> x = inputs<float>(group.rank(), n * group.size()), y(static_cast<size_t>(n));
    group.reduce_scatter(Tensor(x.data(), {group.size(), n}), view(y));
    expect_sum(y, group.size(), group.rank() * n, fmt::format("reduce_scatter to {}", n));
    expect_bits(x, inputs<float>(group.rank(), n * group.size()), "reduce_scatter's input");
  }
}

inline void broadcast_reaches_all_from_any_root(Communicator& group) {
  for (int root = 0; root < group.size(); ++root) {
    for (const int64_t n : kLengths) {
      std::vector<int32_t> x = inputs<int32_t>(group.rank(), n);
      group.broadcast(view(x), root);
      expect_bits(x, inputs<int32_t>(root, n), fmt::format("broadcast of {} from {}", n, root));
    }
  }
}

inline void all_gather_v_takes_parts_of_any_length(Communicator& group) {
  for (const int64_t most : {0, 5, 1000}) {
    std::vector<std::vector<float>> all;
    std::vector<Tensor> parts;
    for (int r = 0; r < group.size(); ++r)  // of the last but one rank nothing
      all.push_back(inputs<float>(group.rank(), r + 2 == group.size() ? 0 : most * (r + 1)));
    for (std::vector<float>& part : all) parts.push_back(view(part));
    group.all_gather_v(parts);
    for (int r = 0; r < group.size(); ++r)
      expect_bits(all[static_cast<size_t>(r)], inputs<float>(r, parts[static_cast<size_t>(r)].numel()),
                  fmt::format("all_gather_v from {}", r));
  }
}

inline void started_all_reduces_overlap(Communicator& group) {
  for (int repetition = 0; repetition < 3; ++repetition) {  // the later ones reuse scratch memory
    std::vector<std::vector<float>> x;
    for (const int64_t n : kLengths) x.push_back(inputs<float>(group.rank(), n));
    std::vector<std::unique_ptr<PendingWork>> pending;
    // Even ranks poll each reduction before the next starts; odd ranks poll afterwards, the last one first.
    for (std::vector<float>& one : x) {
      pending.push_back(group.start_all_reduce(view(one)));
      group.barrier();
      for (int i = 0; group.rank() % 2 == 0 && i < 20; ++i) pending.back()->poll();
    }
    expect(group.sum(1.0) == group.size(), "a blocking collective during asynchronous ones");
    for (auto work = pending.rbegin(); work != pending.rend(); ++work) (*work)->poll();
    for (const auto& work : pending) work->wait();
    for (size_t i = 0; i < x.size(); ++i) {
      expect_sum(x[i], group.size(), 0, "start_all_reduce");
    }
  }
}

// Like a sharded optimizer, sums the own part in place and then gathers all parts, all in progress at once.
inline void started_scatters_and_gathers_work_in_place(Communicator& group) {
  const int64_t size = group.size();
  for (int repetition = 0; repetition < 2; ++repetition) {
    std::vector<std::vector<float>> x;
    std::vector<std::unique_ptr<PendingWork>> pending;
    const auto whole = [&](std::vector<float>& one) {
      return Tensor(one.data(), {size, static_cast<int64_t>(one.size()) / size});
    };
    const auto own = [&](std::vector<float>& one) {
      return whole(one).slice_rows(group.rank(), 1).with_shape({static_cast<int64_t>(one.size()) / size});
    };
    const auto finish = [&] {
      for (const auto& work : pending) work->poll();
      for (const auto& work : pending) work->wait();
      pending.clear();
    };
    for (const int64_t n : kLengths) x.push_back(inputs<float>(group.rank(), n * size));
    for (std::vector<float>& one : x) pending.push_back(group.start_reduce_scatter(whole(one), own(one)));
    finish();
    for (std::vector<float>& one : x) {
      const Tensor sum = own(one);
      const auto* begin = static_cast<const float*>(sum.data);
      expect_sum(std::vector<float>(begin, begin + sum.numel()), group.size(), group.rank() * sum.numel(),
                 "start_reduce_scatter");
    }
    for (std::vector<float>& one : x) pending.push_back(group.start_all_gather(own(one), whole(one)));
    finish();
    for (const std::vector<float>& one : x) expect_sum(one, group.size(), 0, "start_all_gather");
  }
}

inline void all_to_all_transposes_the_parts(Communicator& group) {
  const int64_t size = group.size();
  std::vector<std::vector<float>> x, y;
  std::vector<std::unique_ptr<PendingWork>> pending;
  for (const int64_t n : kLengths) x.push_back(inputs<float>(group.rank(), n * size)), y.emplace_back(n * size);
  for (size_t i = 0; i < x.size(); ++i) pending.push_back(group.start_all_to_all(view(x[i]), view(y[i])));
  for (const auto& work : pending) work->poll();
  for (const auto& work : pending) work->wait();
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<float> wanted;
    for (int r = 0; r < group.size(); ++r) {
      const std::vector<float> part = inputs<float>(r, kLengths[i], group.rank() * kLengths[i]);
      wanted.insert(wanted.end(), part.begin(), part.end());
    }
    expect_bits(y[i], wanted, fmt::format("all_to_all of {}", kLengths[i]));
  }
}

inline void split_orders_by_key(Communicator& group) {
  const int rank = group.rank(), size = group.size();
  const auto reversed = group.split(0, -rank);
  expect(reversed->size() == size && reversed->rank() == size - 1 - rank, "split reversed");
  const auto half = group.split(rank % 2, rank);
  expect(half->size() == (size + 1 - rank % 2) / 2 && half->rank() == rank / 2, "split by parity");

  std::vector<int32_t> mine = {rank}, all(static_cast<size_t>(half->size())), wanted;
  for (int r = rank % 2; r < size; r += 2) wanted.push_back(r);
  half->all_gather(view(mine), view(all));
  expect_bits(all, wanted, "all_gather in a part");
  expect(group.sum(half->sum(1.0)) == ((size + 1) / 2) * ((size + 1) / 2) + (size / 2) * (size / 2), "nested sums");

  const auto alone = half->split(half->rank(), 0);
  expect(alone->size() == 1 && alone->sum(5.0) == 5.0, "split of a split");
  group.barrier();
}

inline void ranks_of_one_host_stay_together(Communicator& group) {  // all ranks of the tests are on one host
  const auto host = group.split_by_host();
  expect(host->size() == group.size() && host->rank() == group.rank(), "split by host");
  expect(host->sum(1.0) == group.size(), "a sum over a host's ranks");
}

inline void host_values_and_strings(Communicator& group) {
  const int rank = group.rank(), size = group.size();
  expect(group.sum(rank + 0.5) == size * (size - 1) / 2.0 + size * 0.5, "sum");
  expect(group.max(-7 - rank) == -7, "max of negative values");
  const int64_t big = (int64_t{1} << 60) + rank;  // beyond the precision of a double
  expect(group.max(big) == (int64_t{1} << 60) + size - 1, "max of large values");
  const auto text = [](int r) { return std::string(static_cast<size_t>(3 * r), 'x') + std::string(1, '\0') + "ä"; };
  for (int root = 0; root < size; ++root) {
    expect(group.broadcast_string(rank == root ? text(root) : "other", root) == text(root), "broadcast_string");
  }
  expect(group.broadcast_string("", 0).empty(), "broadcast_string of nothing");
  const std::vector<std::string> all = group.all_gather_strings(rank == 0 ? "" : text(rank));
  for (int r = 0; r < size; ++r) expect(all[static_cast<size_t>(r)] == (r == 0 ? "" : text(r)), "all_gather_strings");
}

inline std::exception_ptr failure_of(int rank) {
  const ErrorFrame frame(fmt::format("while opening part {}", rank));
  return std::make_exception_ptr(Error(ErrorKind::data, fmt::format("part {} is damaged", rank)));
}

// The Error that agree() throws when the ranks in `failing` have failed.
inline void expect_agreement(Communicator& group, const std::vector<bool>& failing, int lowest) {
  const int rank = group.rank();
  try {
    agree(group, failing[static_cast<size_t>(rank)] ? failure_of(rank) : nullptr);
  } catch (const Error& e) {
    const std::string prefix = group.size() == 1 ? "" : fmt::format("rank {} on {}: ", lowest, host_name());
    expect(e.what() == prefix + fmt::format("part {} is damaged", lowest), std::string("message: ") + e.what());
    expect(e.kind() == ErrorKind::data, "kind");
    expect(e.frames() == std::vector<std::string>{fmt::format("while opening part {}", lowest)}, "frames");
    return;
  }
  expect(false, "agree() returned although a rank failed");
}

inline void agree_stops_all_or_none(Communicator& group) {
  const auto size = static_cast<size_t>(group.size());
  agree(group, nullptr);
  for (size_t one = 0; one < size; ++one) {
    std::vector<bool> failing(size);
    failing[one] = true;
    expect_agreement(group, failing, static_cast<int>(one));
  }
  expect_agreement(group, std::vector<bool>(size, true), 0);
  try {
    agree(group, std::make_exception_ptr(Error(ErrorKind::data, "rank 3 on n7: agreed before")));
  } catch (const Error& e) {
    expect(e.what() == std::string("rank 3 on n7: agreed before"), std::string("message: ") + e.what());
  }
  agree(group, nullptr);
}

struct CommunicatorCase {
  const char* name;
  void (*run)(Communicator& group);
};
inline void PrintTo(const CommunicatorCase& one, std::ostream* out) { *out << one.name; }  // for GoogleTest's messages

inline const std::vector<CommunicatorCase> kCommunicatorCases = {
    {"AllReduceSums", all_reduce_sums},
    {"AllReduceSumsHalvesInF32", all_reduce_sums_halves_in_f32},
    {"EveryRankHasTheSameSum", every_rank_has_the_same_sum},
    {"AllReduceFindsTheMaximum", all_reduce_finds_the_maximum},
    {"ANanIsTheMaximumEverywhere", a_nan_is_the_maximum_everywhere},
    {"AllGatherKeepsRankOrder", all_gather_keeps_rank_order},
    {"ReduceScatterSumsEachRanksPart", reduce_scatter_sums_each_ranks_part},
    {"BroadcastReachesAllFromAnyRoot", broadcast_reaches_all_from_any_root},
    {"AllGatherVTakesPartsOfAnyLength", all_gather_v_takes_parts_of_any_length},
    {"StartedAllReducesOverlap", started_all_reduces_overlap},
    {"StartedScattersAndGathersWorkInPlace", started_scatters_and_gathers_work_in_place},
    {"AllToAllTransposesTheParts", all_to_all_transposes_the_parts},
    {"SplitOrdersByKey", split_orders_by_key},
    {"RanksOfOneHostStayTogether", ranks_of_one_host_stay_together},
    {"HostValuesAndStrings", host_values_and_strings},
    {"AgreeStopsAllOrNone", agree_stops_all_or_none},
};

}  // namespace weft::testing
