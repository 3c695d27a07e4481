// parallel/mpi/gathering.cpp: the stages of an all-gather.
#include "parallel/mpi/gathering.h"

#include <cstring>

namespace weft {

void Gathering::start(const Tensor& x, const Tensor& y) {
  y_ = y, part_ = x.numel(), tag_ = host_.next_tag();
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
