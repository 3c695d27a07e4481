// data/ordered_tasks.h: works on pieces of a stream on several threads, and takes the results in the stream's order.
#pragma once

#include <cstddef>
#include <deque>
#include <future>
#include <optional>
#include <utility>

namespace weft {

// Calls take(work(piece)) for each piece of read(), until read() returns nothing. read() and take() run on the calling
// thread, take() in order; only a few pieces are in memory at a time.
template <typename Read, typename Work, typename Take>
void run_in_order(int threads, const Read& read, const Work& work, const Take& take) {
  using Result = decltype(work(*read()));
  std::deque<std::future<Result>> in_flight;  // oldest first; the destructor waits for the task
  const auto take_oldest = [&] {
    Result result = in_flight.front().get();
    in_flight.pop_front();
    take(std::move(result));
  };
  // One task more than threads keeps the cores busy while this thread reads and takes.
  const size_t most = static_cast<size_t>(threads) + (threads > 1 ? 1 : 0);
  while (auto piece = read()) {
    if (in_flight.size() == most) take_oldest();
    in_flight.push_back(std::async(std::launch::async, [&work, piece = std::move(*piece)] { return work(piece); }));
  }
  while (!in_flight.empty()) take_oldest();
}

}  // namespace weft
