// tests/emulation/nccl/collective.h: one rank's part of a collective, as work of a stream.
//
// It goes in pieces. For each, a rank lays down its part when all have read the piece before, and reads the others'
// when all have laid down theirs. It never waits: the stream asks it again and again. Sums go round the ring, beginning
// behind the rank that owns the chunk, as those of NCCL's ring do; a maximum ignores NaN, as NCCL's does.
//
// Stricter than NCCL: ranks that make different calls have an asynchronous error, which names two of them. As in NCCL,
// a collective after an error ends only when its communicator is aborted.
#pragma once

#include <memory>

#include "tests/emulation/nccl/member.h"

namespace weft::emulation {

size_t size_of(ncclDataType_t type);

class Collective {
 public:
  Collective(std::shared_ptr<Member> member, const Call& call, const void* from, void* to);
  bool poll();  // true when it is done; then it may begin anew

 private:
  enum class Phase { idle, deposit, collect };
  void deposit();
  void collect();
  bool is_the_same_call();
  uint64_t piece() const;  // elements of this piece
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
