// data/packing/pair_encoder.cpp: tasks encode chunks of lines; the results are taken in order.
#include "data/packing/pair_encoder.h"

#include <deque>
#include <future>
#include <utility>
#include <vector>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kChunkPairs = 1024;
constexpr size_t kChunkBytes = 1 << 20;

struct Chunk {
  int64_t first = 0;  // line number of the first pair
  std::vector<TextPair> pairs;
};

struct EncodedChunk {
  std::vector<std::pair<int64_t, PairIds>> pairs;
  EncodeCounts counts;
};

Chunk read_chunk(PairText& text) {
  Chunk chunk{.first = text.num_pairs(), .pairs = {}};
  TextPair pair;
  for (size_t bytes = 0; chunk.pairs.size() < kChunkPairs && bytes < kChunkBytes && text.next(pair);) {
    bytes += pair.source.size() + pair.target.size();
    chunk.pairs.push_back(std::move(pair));
  }
  return chunk;
}

int64_t count_words(const std::string& line) {
  int64_t words = 0;
  bool inside = false;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t';
    words += !space && !inside;
    inside = !space;
  }
  return words;
}

void count(const std::string& line, const std::vector<int32_t>& ids, const Tokenizer& tokenizer, SideCounts& counts) {
  counts.words += count_words(line);
  counts.tokens += static_cast<int64_t>(ids.size());
  for (const int32_t id : ids) {
    counts.unknown += id == 0;
    counts.bytes += tokenizer.is_byte(id);
  }
}

EncodedChunk encode(const Chunk& chunk, const EncodeOptions& options, const Tokenizer& source,
                    const Tokenizer& target) {
  EncodedChunk out;
  const size_t limit = static_cast<size_t>(options.max_length);
  for (size_t i = 0; i < chunk.pairs.size(); ++i) {
    const TextPair& text = chunk.pairs[i];
    PairIds pair{.source = source.encode(text.source), .target = target.encode(text.target)};
    ++out.counts.read;
    if (pair.source.empty() || pair.target.empty()) {
      ++out.counts.empty;
      continue;
    }
    const bool over_long = pair.source.size() > limit || pair.target.size() > limit;
    out.counts.over_long += over_long;
    if (over_long && options.over_long == OverLong::drop) continue;
    ++out.counts.kept;
    count(text.source, pair.source, source, out.counts.source);
    count(text.target, pair.target, target, out.counts.target);
    if (pair.source.size() > limit) pair.source.resize(limit);
    if (pair.target.size() > limit) pair.target.resize(limit);
    out.pairs.emplace_back(chunk.first + static_cast<int64_t>(i), std::move(pair));
  }
  return out;
}

void add(SideCounts& sum, const SideCounts& part) {
  sum.words += part.words;
  sum.tokens += part.tokens;
  sum.unknown += part.unknown;
  sum.bytes += part.bytes;
}

}  // namespace

EncodeCounts& EncodeCounts::operator+=(const EncodeCounts& other) {
  read += other.read;
  empty += other.empty;
  over_long += other.over_long;
  kept += other.kept;
  add(source, other.source);
  add(target, other.target);
  return *this;
}

EncodeCounts encode_pairs(const EncodeOptions& options, const Tokenizer& source, const Tokenizer& target,
                          const std::function<void(int64_t, const PairIds&)>& sink,
                          const std::function<void(int64_t)>& done) {
  PairText text(options.text);
  EncodeCounts counts;
  std::deque<std::future<EncodedChunk>> in_flight;  // oldest first; the destructor waits for the task
  const auto take_oldest = [&] {
    const EncodedChunk chunk = in_flight.front().get();
    in_flight.pop_front();
    for (const auto& [number, pair] : chunk.pairs) sink(number, pair);
    counts += chunk.counts;
    done(counts.read);
  };
  // One more task than threads keeps the cores busy while this thread reads and hands over.
  const size_t most = static_cast<size_t>(options.threads) + (options.threads > 1 ? 1 : 0);
  for (;;) {
    Chunk chunk = read_chunk(text);
    if (chunk.pairs.empty()) break;
    if (in_flight.size() == most) take_oldest();
    in_flight.push_back(std::async(std::launch::async, [&options, &source, &target, chunk = std::move(chunk)] {
      return encode(chunk, options, source, target);
    }));
  }
  while (!in_flight.empty()) take_oldest();
  return counts;
}

}  // namespace weft
