// data/packing/duplicates.cpp: writes hashes to files, and sorts each file.
#include "data/packing/duplicates.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "data/sha256.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kBufferedRecords = 1024;  // per bucket: 16 KiB

}  // namespace

DuplicateFinder::DuplicateFinder(const std::string& folder) {
  for (size_t i = 0; i < buckets_.size(); ++i) {
    Bucket& bucket = buckets_[i];
    bucket.path = (std::filesystem::path(folder) / fmt::format("hashes-{:02x}", i)).string();
    bucket.file = FileDescriptor(open(bucket.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!bucket.file) fail(ErrorKind::io, fmt::format("cannot create {}: {}", bucket.path, std::strerror(errno)));
  }
}

void DuplicateFinder::add(const TextPair& pair) {
  text_.assign(trim(pair.source)).append("\n").append(trim(pair.target));  // a line contains no LF
  if (!pair.tag.empty() || !pair.target_tag.empty()) text_.append("\n" + pair.tag + "\n" + pair.target_tag);
  const uint64_t hash = sha256_start(text_);
  Bucket& bucket = buckets_[hash >> 56];
  bucket.buffer.push_back({.hash = hash, .number = num_pairs_++});
  if (bucket.buffer.size() == kBufferedRecords) flush(bucket);
}

void DuplicateFinder::flush(Bucket& bucket) {
  write_all(bucket.file.get(), bucket.buffer.data(), bucket.buffer.size() * sizeof(Record), bucket.path);
  bucket.buffer.clear();
}

std::vector<bool> DuplicateFinder::finish() {
  std::vector<bool> found(static_cast<size_t>(num_pairs_));
  std::vector<Record> records;
  for (Bucket& bucket : buckets_) {
    flush(bucket);
    bucket.file.reset();
    const std::string bytes = read_file(bucket.path);
    std::filesystem::remove(bucket.path);
    records.resize(bytes.size() / sizeof(Record));
    if (!bytes.empty()) std::memcpy(records.data(), bytes.data(), records.size() * sizeof(Record));
    std::sort(records.begin(), records.end(),
              [](const Record& a, const Record& b) { return std::tie(a.hash, a.number) < std::tie(b.hash, b.number); });
    for (size_t i = 1; i < records.size(); ++i)
      if (records[i].hash == records[i - 1].hash) found[static_cast<size_t>(records[i].number)] = true;
  }
  return found;
}

}  // namespace weft
