// parallel/mpi/gathering.cpp: implements the stages of an all-gather.
#include "parallel/mpi/gathering.h"

#include <cstring>

namespace weft {

void Gathering::start(const Tensor& x, const Tensor& y) {
  y_ = y, part_ = x.numel(), tag_ = host_.next_tag(), name_ = "all_gather";
  std::byte* const own = part_of(host_.rank, across_ != nullptr ? across_->rank : 0);
  if (own != x.data && part_ > 0) std::memcpy(own, x.data, x.bytes());
  in_host_ = across_ == nullptr;
  if (in_host_) return hand_round();
  for (int i = 1; i < hosts(); ++i) {
    const int peer = (across_->rank + i) % hosts();
    transfers_.receive(*across_, part_of(host_.rank, peer), part_, y_.dtype, peer, tag_);
  }
  for (int i = 1; i < hosts(); ++i)
    transfers_.send(*across_, own, part_, y_.dtype, (across_->rank + i) % hosts(), tag_);
}

void Gathering::start_all_to_all(const Tensor& x, const Tensor& y) {
  y_ = y, part_ = x.numel() / host_.size, tag_ = host_.next_tag(), name_ = "all_to_all", in_host_ = true;
  const int own = host_.rank;
  for (int i = 1; i < host_.size; ++i) {
    const int peer = (own + i) % host_.size;
    transfers_.receive(host_, at(y, peer * part_), part_, y.dtype, peer, tag_);
  }
  for (int i = 1; i < host_.size; ++i) {
    const int peer = (own + i) % host_.size;
    transfers_.send(host_, at(x, peer * part_), part_, x.dtype, peer, tag_);
  }
  if (part_ > 0) std::memcpy(at(y, own * part_), at(x, own * part_), static_cast<size_t>(part_) * size_of(x.dtype));
}

bool Gathering::advance(bool block) {
  if (!transfers_.finished(block)) return false;
  if (in_host_) return true;
  in_host_ = true;
  hand_round();
  return transfers_.finished(block);
}

void Gathering::hand_round() {
  for (int i = 1; i < host_.size; ++i) {
    const int peer = (host_.rank + i) % host_.size;
    for (int h = 0; h < hosts(); ++h) transfers_.receive(host_, part_of(peer, h), part_, y_.dtype, peer, tag_);
  }
  for (int i = 1; i < host_.size; ++i) {
    const int peer = (host_.rank + i) % host_.size;
    for (int h = 0; h < hosts(); ++h) transfers_.send(host_, part_of(host_.rank, h), part_, y_.dtype, peer, tag_);
  }
}

}  // namespace weft
