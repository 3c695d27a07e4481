// tests/emulation/nccl/collective.cpp: writes, reads and adds the chunks of a collective.
#include "tests/emulation/nccl/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "tensor/half.h"

namespace weft::emulation {
namespace {

std::string text_of(const Call& call) {
  return fmt::format("{} of {} elements (type {}, operation {}, root {}{})", name_of(call.kind), call.count, call.type,
                     call.op, call.root, call.is_recorded ? ", in a graph" : "");
}

template <typename T>
T combine(int op, T x, T y) {
  if constexpr (sizeof(T) == sizeof(uint16_t)) {  // rounds each time
    return from_float<T>(combine(op, to_float(x), to_float(y)));
  } else if (op == ncclSum) {
    return x + y;
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::fmax(x, y);
  } else {
    return std::max(x, y);
  }
}

}  // namespace

size_t size_of(ncclDataType_t type) {
  return type == ncclFloat64 ? 8 : type == ncclFloat16 || type == ncclBfloat16 ? 2 : 4;
}

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclBroadcast",
                                    "all-to-all"};
  return kNames[static_cast<int>(kind)];
}

Collective::Collective(std::shared_ptr<Member> member, const Call& call, const void* from, void* to)
    : member_(std::move(member)),
      call_(call),
      element_(size_of(static_cast<ncclDataType_t>(call.type))),
      from_(static_cast<const std::byte*>(from)),
      to_(static_cast<std::byte*>(to)) {}

bool Collective::poll() {
  Member& m = *member_;
  RankState& mine = m.shared(m.rank());
  for (;;) {
    if (m.aborted()) {
      phase_ = Phase::idle;
      return true;
    }
    if (phase_ == Phase::idle) {
      m.count_collective();
      first_ = 0;
      phase_ = Phase::deposit;
    }
    if (m.error() != ncclSuccess || m.stalled()) return false;
    const uint64_t stage = 2 * m.num_pieces + (phase_ == Phase::collect ? 1 : 0);
    if (!m.all_reached(stage)) return false;
    if (phase_ == Phase::deposit) {
      deposit();
      phase_ = Phase::collect;
    } else {
      if (!is_the_same_call()) return false;
      collect();
      ++m.num_pieces;
      first_ += piece();
      phase_ = first_ == call_.count ? Phase::idle : Phase::deposit;
    }
    mine.stage = stage + 1;
    if (phase_ == Phase::idle) return true;
  }
}

uint64_t Collective::num_parts() const {
  const bool several = call_.kind == Kind::reduce_scatter || call_.kind == Kind::all_to_all;
  return several ? static_cast<uint64_t>(member_->size()) : 1;
}

uint64_t Collective::piece() const {
  return std::min<uint64_t>(kDepositBytes / element_ / num_parts(), call_.count - first_);
}

void Collective::deposit() {
  const int rank = member_->rank();
  member_->shared(rank).call = call_;
  const size_t bytes = piece() * element_;
  for (uint64_t part = 0; part < num_parts(); ++part)
    std::memcpy(member_->deposit(rank) + part * bytes, from_ + (part * call_.count + first_) * element_, bytes);
}

void Collective::collect() {
  std::byte* const to = to_ + first_ * element_;
  const size_t bytes = piece() * element_;
  if (call_.kind == Kind::broadcast) {
    std::memcpy(to, member_->deposit(call_.root), bytes);
  } else if (call_.kind == Kind::all_gather || call_.kind == Kind::all_to_all) {
    const size_t part = call_.kind == Kind::all_to_all ? static_cast<size_t>(member_->rank()) * bytes : 0;
    for (int r = 0; r < member_->size(); ++r)
      std::memcpy(to + static_cast<uint64_t>(r) * call_.count * element_, member_->deposit(r) + part, bytes);
  } else if (call_.type == ncclFloat32) {
    reduce(reinterpret_cast<float*>(to));
  } else if (call_.type == ncclFloat64) {
    reduce(reinterpret_cast<double*>(to));
  } else if (call_.type == ncclFloat16) {
    reduce(reinterpret_cast<Float16*>(to));
  } else if (call_.type == ncclBfloat16) {
    reduce(reinterpret_cast<BFloat16*>(to));
  } else {
    reduce(reinterpret_cast<int32_t*>(to));
  }
}

template <typename T>
void Collective::reduce(T* out) {
  const auto size = static_cast<uint64_t>(member_->size()), rank = static_cast<uint64_t>(member_->rank());
  const uint64_t n = piece(), chunk = (call_.count + size - 1) / size;
  const bool scatters = call_.kind == Kind::reduce_scatter;
  for (uint64_t i = 0; i < n; ++i) {
    const uint64_t owner = scatters ? rank : (first_ + i) / chunk;
    const auto value = [&](uint64_t r) {
      return reinterpret_cast<const T*>(member_->deposit(static_cast<int>(r)))[scatters ? rank * n + i : i];
    };
    T sum = value((owner + 1) % size);
    for (uint64_t k = 2; k <= size; ++k) sum = combine(call_.op, sum, value((owner + k) % size));
    out[i] = sum;
  }
}

bool Collective::is_the_same_call() {
  for (int r = 0; r < member_->size(); ++r) {
    const Call& theirs = member_->shared(r).call;
    if (theirs == call_) continue;
    const int mine = member_->rank();
    member_->fail(ncclInvalidUsage, fmt::format("the ranks make different calls: rank {} {}, rank {} {}", mine,
                                                text_of(call_), r, text_of(theirs)));
    return false;
  }
  return true;
}

}  // namespace weft::emulation
