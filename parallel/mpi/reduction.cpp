// parallel/mpi/reduction.cpp: implements the stages of a reduction.
#include "parallel/mpi/reduction.h"

#include <cstring>

namespace weft {

template <typename ChunkOf>
void Reduction::exchange(const Tensor& x, ReduceOp op, int tag, ChunkOf chunk) {
  x_ = x, op_ = op, tag_ = tag, stage_ = Stage::exchange;
  const Chunk own = chunk(group_.rank);
  own_count_ = own.count;
  const size_t part_bytes = static_cast<size_t>(own.count) * size_of(x.dtype);
  const size_t needed = part_bytes * static_cast<size_t>(group_.size - 1);
  if (scratch_.size() < needed) scratch_.resize(needed);
  parts_.assign(static_cast<size_t>(group_.size), at(x, own.begin));
  std::byte* scratch = scratch_.data();
  for (int i = 1; i < group_.size; ++i, scratch += part_bytes) {
    const int peer = (group_.rank + i) % group_.size;
    parts_[static_cast<size_t>(peer)] = scratch;
    transfers_.receive(group_, scratch, own.count, x.dtype, peer, tag_);
  }
  for (int i = 1; i < group_.size; ++i) {  // each rank starts with a different peer, so that no rank is flooded
    const int peer = (group_.rank + i) % group_.size;
    const Chunk theirs = chunk(peer);
    transfers_.send(group_, at(x, theirs.begin), theirs.count, x.dtype, peer, tag_);
  }
}

void Reduction::start_all_reduce(const Tensor& x, ReduceOp op, int tag) {
  gathers_ = true;
  exchange(x, op, tag, [n = x.numel(), size = group_.size](int r) { return chunk_of(n, r, size); });
  out_ = at(x, chunk_of(x.numel(), group_.rank, group_.size).begin);
}

void Reduction::start_reduce_scatter(const Tensor& x, const Tensor& y) {
  start_reduce_scatter(x, y, group_.next_tag());
}

void Reduction::start_reduce_scatter(const Tensor& x, const Tensor& y, int tag) {
  gathers_ = false;
  y_ = y;
  if (across_) {
    x_ = x, op_ = ReduceOp::sum, tag_ = tag, stage_ = Stage::exchange;
    return exchange_in_host();
  }
  exchange(x, ReduceOp::sum, tag, [n = y.numel()](int r) { return Chunk{r * n, n}; });
  out_ = y.data;
}

// Within its host, a rank sums the chunks of all ranks that have its place on their hosts.
void Reduction::exchange_in_host() {
  const int64_t n = y_.numel();
  const int hosts = across_->group_.size;
  const size_t part_bytes = y_.bytes();
  own_count_ = hosts * n;
  const size_t needed = static_cast<size_t>(hosts * group_.size) * part_bytes;
  if (scratch_.size() < needed) scratch_.resize(needed);
  const auto scratch = [&](int place, int host) {
    return scratch_.data() + static_cast<size_t>(place * hosts + host) * part_bytes;
  };
  const auto part = [&](int place, int host) { return at(x_, order_[place * hosts + host] * n); };
  parts_.clear();
  for (int place = 0; place < group_.size; ++place) parts_.push_back(scratch(place, 0));
  for (int i = 1; i < group_.size; ++i) {
    const int peer = (group_.rank + i) % group_.size;
    for (int h = 0; h < hosts; ++h) transfers_.receive(group_, scratch(peer, h), n, x_.dtype, peer, tag_);
  }
  for (int i = 1; i < group_.size; ++i) {
    const int peer = (group_.rank + i) % group_.size;
    for (int h = 0; h < hosts; ++h) transfers_.send(group_, part(peer, h), n, x_.dtype, peer, tag_);
  }
  for (int h = 0; h < hosts && n > 0; ++h) std::memcpy(scratch(group_.rank, h), part(group_.rank, h), part_bytes);
  out_ = scratch(group_.rank, 0);
}

bool Reduction::advance(bool block) {
  if (stage_ == Stage::exchange) {
    if (!transfers_.finished(block)) return false;
    reduce_in_rank_order(op_, x_.dtype, parts_, own_count_, out_);
    const Tensor sum(out_, {own_count_}, x_.dtype);
    if (across_) gathers_ ? across_->start_all_reduce(sum, op_, tag_) : across_->start_reduce_scatter(sum, y_, tag_);
    stage_ = Stage::across;
  }
  if (stage_ == Stage::across) {
    if (across_ && !across_->advance(block)) return false;
    if (gathers_) hand_round();
    stage_ = Stage::hand_round;
  }
  return transfers_.finished(block);
}

void Reduction::hand_round() {
  for (int i = 1; i < group_.size; ++i) {
    const int peer = (group_.rank + i) % group_.size;
    const Chunk theirs = chunk_of(x_.numel(), peer, group_.size);
    transfers_.receive(group_, at(x_, theirs.begin), theirs.count, x_.dtype, peer, tag_);
  }
  for (int i = 1; i < group_.size; ++i) {
    transfers_.send(group_, out_, own_count_, x_.dtype, (group_.rank + i) % group_.size, tag_);
  }
}

}  // namespace weft
