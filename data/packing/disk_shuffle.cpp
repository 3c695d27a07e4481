// data/packing/disk_shuffle.cpp: keeps buckets on disk. A record contains the pair number (8 bytes), the weight and
// score (4 each) if pairs have them, two lengths (4 each) and the ids (id_bytes each). Integers are little-endian.
#include "data/packing/disk_shuffle.h"

#include <fcntl.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "tensor/error.h"
#include "tensor/random.h"

namespace weft {
namespace {

constexpr uint32_t kShufflePurpose = purpose_of("data.pack_order");
constexpr size_t kBufferBytes = 16 << 10;  // per bucket

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <typename T>
T take(const char*& bytes) {
  T value{};
  std::memcpy(&value, bytes, sizeof(T));
  bytes += sizeof(T);
  return value;
}

// Calls `copy` with a zero of the stored ids' type, because the compiler vectorizes only loops over a known type.
template <typename Copy>
void as_stored(size_t id_bytes, Copy&& copy) {
  assert(id_bytes == 1 || id_bytes == 2 || id_bytes == 4);
  if (id_bytes == 1) return copy(uint8_t{0});
  if (id_bytes == 2) return copy(uint16_t{0});
  copy(uint32_t{0});
}

void append_ids(std::string& bytes, const std::vector<int32_t>& ids, size_t id_bytes) {
  const size_t begin = bytes.size();
  bytes.resize(begin + ids.size() * id_bytes);
  as_stored(id_bytes, [&](auto stored) {
    char* next = bytes.data() + begin;
    for (const int32_t id : ids) {
      stored = static_cast<decltype(stored)>(id);
      std::memcpy(next, &stored, sizeof stored);
      next += sizeof stored;
    }
  });
}

void take_ids(const char*& bytes, std::vector<int32_t>& ids, size_t id_bytes) {
  as_stored(id_bytes, [&](auto stored) {
    for (int32_t& id : ids) id = static_cast<int32_t>(take<decltype(stored)>(bytes));
  });
}

struct Record {  // location of a pair's record in its bucket
  uint64_t key;
  int64_t number;
  const char* rest;  // the record after the number; higher for pairs that were added later
  bool operator<(const Record& other) const {
    return std::tie(key, number, rest) < std::tie(other.key, other.number, other.rest);
  }
};

constexpr size_t kNumbers = 2 * sizeof(float);  // bytes of weight and score

std::vector<Record> index_records(const std::string& bytes, uint64_t seed, const DiskShuffle::Format& format) {
  std::vector<Record> records;
  for (const char *next = bytes.data(), *end = next + bytes.size(); next < end;) {
    const int64_t number = take<int64_t>(next);
    records.push_back({.key = DiskShuffle::key(seed, number), .number = number, .rest = next});
    if (format.with_numbers) next += kNumbers;
    const size_t source = take<uint32_t>(next), target = take<uint32_t>(next);
    next += (source + target) * static_cast<size_t>(format.id_bytes);
  }
  return records;
}

void read_pair(const char* next, const DiskShuffle::Format& format, PairIds& pair) {
  if (format.with_numbers) {
    pair.weight = take<float>(next);
    pair.score = take<float>(next);
  }
  pair.source.resize(take<uint32_t>(next));
  pair.target.resize(take<uint32_t>(next));
  for (std::vector<int32_t>* side : {&pair.source, &pair.target})
    take_ids(next, *side, static_cast<size_t>(format.id_bytes));
}

}  // namespace

uint64_t DiskShuffle::key(uint64_t seed, int64_t number) {
  const PhiloxBits bits = philox(seed, static_cast<uint64_t>(number), 0, kShufflePurpose);
  return uint64_t{bits.v[0]} << 32 | bits.v[1];
}

DiskShuffle::DiskShuffle(std::string folder, uint64_t seed, int64_t expected_pairs, int64_t bucket_pairs, Format format,
                         int64_t max_buckets)
    : folder_(std::move(folder)), seed_(seed), bucket_pairs_(bucket_pairs), max_buckets_(max_buckets), format_(format) {
  const int64_t num_buckets = std::clamp<int64_t>((expected_pairs - 1) / bucket_pairs + 1, 1, max_buckets);
  for (int64_t i = 0; i < num_buckets; ++i) {
    Bucket bucket{.path = (std::filesystem::path(folder_) / fmt::format("bucket-{:03d}", i)).string(),
                  .file = FileDescriptor(),
                  .buffer = {}};
    bucket.file = FileDescriptor(open(bucket.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!bucket.file) fail(ErrorKind::io, fmt::format("cannot create {}: {}", bucket.path, std::strerror(errno)));
    buckets_.push_back(std::move(bucket));
  }
}

// The key is read as the fraction key / 2^64. After multiplication by the number of buckets, the integer part is the
// bucket, and the fractional part is a uniform key within the bucket, which the next level uses in the same way.
size_t DiskShuffle::bucket_of(uint64_t key) const {
  for (const uint64_t buckets : upper_levels_) key *= buckets;
  return static_cast<size_t>((static_cast<unsigned __int128>(key) * buckets_.size()) >> 64);
}

void DiskShuffle::add(int64_t number, const PairIds& pair) {
  Bucket& bucket = buckets_[bucket_of(key(seed_, number))];
  ++bucket.num_pairs;
  append(bucket.buffer, number);
  if (format_.with_numbers) {
    append(bucket.buffer, pair.weight);
    append(bucket.buffer, pair.score);
  }
  append(bucket.buffer, static_cast<uint32_t>(pair.source.size()));
  append(bucket.buffer, static_cast<uint32_t>(pair.target.size()));
  for (const std::vector<int32_t>* side : {&pair.source, &pair.target})
    append_ids(bucket.buffer, *side, static_cast<size_t>(format_.id_bytes));
  if (bucket.buffer.size() >= kBufferBytes) flush(bucket);
}

void DiskShuffle::flush(Bucket& bucket) {
  write_all(bucket.file.get(), bucket.buffer.data(), bucket.buffer.size(), bucket.path);
  bucket.buffer.clear();
}

void DiskShuffle::drain(const std::function<void(const PairIds&)>& sink) {
  for (Bucket& bucket : buckets_) {
    flush(bucket);
    bucket.file.reset();
    if (bucket.num_pairs <= 2 * bucket_pairs_)
      drain_in_memory(bucket, sink);
    else
      drain_divided(bucket, sink);
  }
  buckets_.clear();
}

void DiskShuffle::drain_in_memory(const Bucket& bucket, const std::function<void(const PairIds&)>& sink) const {
  const std::string bytes = read_file(bucket.path);
  std::filesystem::remove(bucket.path);
  std::vector<Record> records = index_records(bytes, seed_, format_);
  std::sort(records.begin(), records.end());
  PairIds pair;
  for (const Record& record : records) {
    read_pair(record.rest, format_, pair);
    sink(pair);
  }
}

void DiskShuffle::drain_divided(const Bucket& bucket, const std::function<void(const PairIds&)>& sink) const {
  const std::string folder = bucket.path + ".divided";
  std::filesystem::create_directory(folder);
  DiskShuffle next(folder, seed_, bucket.num_pairs, bucket_pairs_, format_, max_buckets_);
  next.upper_levels_ = upper_levels_;
  next.upper_levels_.push_back(buckets_.size());
  std::ifstream file(bucket.path, std::ios::binary);
  std::string record;
  const size_t lengths = sizeof(int64_t) + (format_.with_numbers ? kNumbers : 0);  // offset of the lengths in a record
  for (int64_t i = 0; i < bucket.num_pairs; ++i) {
    record.resize(lengths + 2 * sizeof(uint32_t));
    file.read(record.data(), static_cast<std::streamsize>(record.size()));
    const char *head = record.data(), *sides = record.data() + lengths;
    const int64_t number = take<int64_t>(head);
    const size_t source = take<uint32_t>(sides), target = take<uint32_t>(sides);
    const size_t ids = (source + target) * static_cast<size_t>(format_.id_bytes);
    const size_t before = record.size();
    record.resize(before + ids);
    file.read(record.data() + before, static_cast<std::streamsize>(ids));
    if (!file) fail(ErrorKind::io, fmt::format("cannot read the temporary file {}", bucket.path));
    PairIds pair;
    read_pair(record.data() + sizeof(int64_t), format_, pair);
    next.add(number, pair);
  }
  std::filesystem::remove(bucket.path);
  next.drain(sink);
  std::filesystem::remove(folder);
}

}  // namespace weft
