// tests/emulation/nccl/collective.h: one rank's part of a collective, as work of a stream.
//
// Data is exchanged in pieces. A rank writes its part of a piece when all ranks have read the previous piece,
// and reads the others' parts when all have written theirs. It never blocks: the stream polls it. Sums start
// after the rank that owns the chunk and follow the ring, as in NCCL; like NCCL's, a maximum ignores NaN.
//
// Stricter than NCCL: ranks that make different calls get an asynchronous error, which names two of them. As
// in NCCL, a collective after an error ends only when its communicator is aborted.
#pragma once

#include <memory>

#include "tests/emulation/nccl/member.h"

namespace weft::emulation {

size_t size_of(ncclDataType_t type);
const char* name_of(Kind kind);

class Collective {
 public:
  Collective(std::shared_ptr<Member> member, const Call& call, const void* from, void* to);
  bool poll();  // true when it is done; then it may restart

 private:
  enum class Phase { idle, deposit, collect };
  void deposit();
  void collect();
  bool is_the_same_call();
  uint64_t num_parts() const;  // that a rank deposits
  uint64_t piece() const;      // elements of this piece
  template <typename T>
  void reduce(T* out);

  const std::shared_ptr<Member> member_;
  const Call call_;
  const size_t element_;  // bytes
  const std::byte* const from_;
  std::byte* const to_;
  Phase phase_ = Phase::idle;
  uint64_t first_ = 0;  // element of this piece
};

}  // namespace weft::emulation
