// data/packing/pair_encoder.cpp: tasks encode chunks of lines; the results are taken in order.
#include "data/packing/pair_encoder.h"

#include <deque>
#include <future>
#include <utility>
#include <vector>

#include "data/text/text_reader.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kChunkPairs = 1024;
constexpr size_t kChunkBytes = 1 << 20;

struct Chunk {
  int64_t first = 0;  // line number of the first pair
  std::vector<std::pair<std::string, std::string>> lines;
};

struct EncodedChunk {
  std::vector<std::pair<int64_t, PairIds>> pairs;
  EncodeCounts counts;
};

Chunk read_chunk(TextReader& source, TextReader& target) {
  Chunk chunk{.first = source.num_lines(), .lines = {}};
  std::string source_line, target_line;
  for (size_t bytes = 0; chunk.lines.size() < kChunkPairs && bytes < kChunkBytes;) {
    const bool has_source = source.next(source_line), has_target = target.next(target_line);
    if (has_source != has_target)
      fail(ErrorKind::data, fmt::format("{} or {} was changed while it was read", source.path(), target.path()));
    if (!has_source) break;
    bytes += source_line.size() + target_line.size();
    chunk.lines.emplace_back(std::move(source_line), std::move(target_line));
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
  for (size_t i = 0; i < chunk.lines.size(); ++i) {
    const auto& [source_line, target_line] = chunk.lines[i];
    PairIds pair{.source = source.encode(source_line), .target = target.encode(target_line)};
    ++out.counts.read;
    if (pair.source.empty() || pair.target.empty()) {
      ++out.counts.empty;
      continue;
    }
    const bool over_long = pair.source.size() > limit || pair.target.size() > limit;
    out.counts.over_long += over_long;
    if (over_long && options.over_long == OverLong::drop) continue;
    ++out.counts.kept;
    count(source_line, pair.source, source, out.counts.source);
    count(target_line, pair.target, target, out.counts.target);
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
  TextReader source_text(options.source), target_text(options.target);
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
    Chunk chunk = read_chunk(source_text, target_text);
    if (chunk.lines.empty()) break;
    if (in_flight.size() == most) take_oldest();
    in_flight.push_back(std::async(std::launch::async, [&options, &source, &target, chunk = std::move(chunk)] {
      return encode(chunk, options, source, target);
    }));
  }
  while (!in_flight.empty()) take_oldest();
  return counts;
}

}  // namespace weft
