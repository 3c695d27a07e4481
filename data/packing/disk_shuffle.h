// data/packing/disk_shuffle.h: shuffles any number of pairs globally, in bounded memory.
//
// Pair i has a random 64-bit key, a pure function of (seed, i). The shuffled order is by increasing (key, i). Pairs are
// scattered into temporary files by the upper part of the key (one digit of a radix sort). Each file is then sorted in
// memory or, if it is too large, scattered again by the next digit. The result does not depend on the number of files.
// The variants of a pair stay together, in their order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/atomic_file.h"
#include "data/shards/shard.h"

namespace weft {

class DiskShuffle {
 public:
  struct Format {               // format of a pair in a file
    int id_bytes;               // bytes per id
    bool with_numbers = false;  // whether weight and score are stored
  };

  // Writes files to `folder`. REQUIRES: `folder` exists, and at most `expected_pairs` pairs are added. About
  // `bucket_pairs` pairs are sorted in memory at a time, and at most `max_buckets` files per level are open. Here, each
  // variant counts as a pair.
  DiskShuffle(std::string folder, uint64_t seed, int64_t expected_pairs, int64_t bucket_pairs, Format format,
              int64_t max_buckets = 512);

  // REQUIRES: pairs with the same `number` are added one after the other.
  void add(int64_t number, const PairIds& pair);
  // Passes all pairs in shuffled order to `sink`, and removes the temporary files as it proceeds.
  void drain(const std::function<void(const PairIds&)>& sink);

  static uint64_t key(uint64_t seed, int64_t number);

 private:
  struct Bucket {
    std::string path;
    FileDescriptor file;
    std::string buffer;  // not written yet
    int64_t num_pairs = 0;
  };
  size_t bucket_of(uint64_t key) const;
  void flush(Bucket& bucket);
  void drain_in_memory(const Bucket& bucket, const std::function<void(const PairIds&)>& sink) const;
  void drain_divided(const Bucket& bucket, const std::function<void(const PairIds&)>& sink) const;

  std::string folder_;
  uint64_t seed_;
  int64_t bucket_pairs_, max_buckets_;
  Format format_;
  std::vector<uint64_t> upper_levels_;  // numbers of buckets in the levels above
  std::vector<Bucket> buckets_;
};

}  // namespace weft
