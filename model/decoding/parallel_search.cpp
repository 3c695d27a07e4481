// model/decoding/parallel_search.cpp: runs each search in its own thread.
#include "model/decoding/parallel_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kMostSearches = 8;  // because each has its own caches

int64_t most_searches_of(const std::vector<SearchModel>& models, int64_t side_by_side) {
  for (const SearchModel& m : models)
    if (m.ctx.device() != Device::cpu || m.tp.size() > 1 || !m.model.has_inference_weights()) return 1;
  if (binds_threads()) return 1;
  const int64_t most = side_by_side > 0 ? std::min(side_by_side, kMostSearches) : kMostSearches;
  return std::min<int64_t>(num_threads(), most);
}

// Returns the size of part `index` if `total` is divided into `parts` parts. The first parts may be larger by one.
int64_t part_of(int64_t total, size_t index, size_t parts) {
  const auto count = static_cast<int64_t>(parts);
  return total / count + (static_cast<int64_t>(index) < total % count ? 1 : 0);
}

template <typename Search>
std::future<void> start(const Search& search) {
  try {
    return std::async(std::launch::async, search);
  } catch (const std::system_error& e) {
    fail(ErrorKind::io, fmt::format("a thread for a search cannot be started: {}; raise the limit of processes or "
                                    "memory (ulimit -u, -v, -d), or set fewer threads with OMP_NUM_THREADS",
                                    e.what()));
  }
}

}  // namespace

ParallelSearch::ParallelSearch(const std::vector<SearchModel>& models, const SearchOptions& options,
                               const TokenRules& rules, int64_t side_by_side)
    : models_(models),
      options_(options),
      rules_(rules),
      side_by_side_(side_by_side),
      most_searches_(most_searches_of(models, side_by_side)) {
  add_search();
}

void ParallelSearch::add_search() {
  std::vector<SearchModel> models;
  for (const SearchModel& m : models_)
    models.push_back({.ctx = searches_.empty() ? m.ctx : contexts_.emplace_back(), .model = m.model, .tp = m.tp});
  const auto count = static_cast<size_t>(most_searches_);
  searches_.emplace_back(models, options_, rules_,
                         side_by_side_ > 0 ? part_of(side_by_side_, searches_.size(), count) : 0);
}

std::vector<std::vector<Hypothesis>> ParallelSearch::search(const std::vector<BeamRequest>& requests,
                                                            const std::function<void(int64_t)>& on_done) {
  const auto parts =
      static_cast<size_t>(std::min({most_searches_, std::ssize(requests), static_cast<int64_t>(num_threads())}));
  while (searches_.size() < parts) add_search();
  if (parts <= 1) return searches_.front().search(requests, on_done);
  SearchWork work(requests, on_done, parts);
  const int threads = num_threads();  // of this thread
  const std::vector<std::string> frames = ErrorFrame::frames();
  const auto run = [&](size_t part) {
    set_num_threads(static_cast<int>(part_of(threads, part, parts)));
    ErrorFrame::frames() = frames;
    try {
      searches_[part].search(work);
    } catch (...) {
      work.drop_rest();
      throw;
    }
  };
  std::vector<std::future<void>> running;  // their destructors wait
  try {
    for (size_t part = 0; part < parts; ++part) running.push_back(start([&run, part] { run(part); }));
  } catch (...) {
    work.drop_rest();
    throw;
  }
  for (std::future<void>& search : running) search.get();
  return work.results();
}

}  // namespace weft
