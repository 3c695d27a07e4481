// tests/bench/encode_bench.cpp: SentencePiece's encoding alone, without output, for tests/bench/packing.
//
//   encode_bench MODEL THREADS FILE...
//
// The files are mapped into memory; threads take a megabyte of lines at a time, so that none waits for
// another. Prints one JSON object. Every program that tokenizes has at least this cost; the rest of `weft
// pack`'s time is its own.
#include <fcntl.h>
#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr size_t kTask = 1 << 20;  // bytes; a task has the lines that begin in them

std::string_view map_file(const char* path) {  // mapped until the process ends
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0 || status.st_size == 0)
    throw std::runtime_error(fmt::format("{} cannot be read, or is empty", path));
  const auto size = static_cast<size_t>(status.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED) throw std::runtime_error(fmt::format("{} cannot be mapped", path));
  return {static_cast<const char*>(bytes), size};
}

// The start of the first line that begins at `position` or after it.
size_t line_start(std::string_view text, size_t position) {
  if (position == 0 || position >= text.size()) return std::min(position, text.size());
  const size_t end = text.find('\n', position - 1);
  return end == std::string_view::npos ? text.size() : end + 1;
}

struct Counts {
  std::atomic<int64_t> lines = 0, pieces = 0;
};

void encode(const sentencepiece::SentencePieceProcessor& processor, std::string_view text, Counts& counts) {
  std::vector<int> ids;
  int64_t lines = 0, pieces = 0;
  while (!text.empty()) {
    const size_t length = std::min(text.find('\n'), text.size());
    if (!processor.Encode({text.data(), length}, &ids).ok()) throw std::runtime_error("a line cannot be encoded");
    text.remove_prefix(std::min(length + 1, text.size()));
    ++lines, pieces += static_cast<int64_t>(ids.size());
  }
  counts.lines += lines, counts.pieces += pieces;
}

void encode_all(const sentencepiece::SentencePieceProcessor& processor, const std::vector<std::string_view>& texts,
                int num_threads, Counts& counts) {
  std::vector<std::string_view> tasks;
  for (const std::string_view text : texts)
    for (size_t begin = 0; begin < text.size(); begin += kTask) {
      const size_t first = line_start(text, begin), last = line_start(text, begin + kTask);
      tasks.push_back(text.substr(first, last - first));
    }
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < num_threads; ++i)
    threads.emplace_back([&] {
      for (size_t task = next++; task < tasks.size(); task = next++) encode(processor, tasks[task], counts);
    });
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 4) throw std::runtime_error("usage: encode_bench MODEL THREADS FILE...");
  sentencepiece::SentencePieceProcessor processor;
  if (!processor.Load(argv[1]).ok()) throw std::runtime_error(fmt::format("{} is no SentencePiece model", argv[1]));
  std::vector<std::string_view> texts;
  for (int i = 3; i < argc; ++i) texts.push_back(map_file(argv[i]));
  Counts counts;
  encode_all(processor, texts, std::atoi(argv[2]), counts);
  fmt::print("{{\"lines\": {}, \"pieces\": {}}}\n", counts.lines.load(), counts.pieces.load());
  return 0;
} catch (const std::exception& e) {
  fmt::print(stderr, "encode_bench: {}\n", e.what());
  return 1;
}
