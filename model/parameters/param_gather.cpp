// model/parameters/param_gather.cpp: all-gathers buckets in the order of the forward pass.
#include "model/parameters/param_gather.h"

#include <utility>

namespace weft {

ParamGather::ParamGather(Communicator& dp, const ParamStore& params, Shard shard)
    : dp_(dp),
      params_(params),
      shard_(std::move(shard)),
      weights_((params.mixed() ? params.rounded() : params.values()).slice_rows(0, params.matrix_numel())) {}

void ParamGather::begin() {
  pending_.clear();  // a recording that was refused leaves its own
  for (const Chunk& bucket : shard_.buckets()) {
    const Chunk own = shard_.own(bucket);
    pending_.push_back(dp_.start_all_gather(weights_.slice_rows(own.begin, own.count),
                                            weights_.slice_rows(bucket.begin, bucket.count)));
  }
  std::reverse(pending_.begin(), pending_.end());
  refreshed_ = 0;
}

void ParamGather::need(Context& ctx, int64_t offset) {
  if (pending_.empty()) return;
  const auto arrived = [&] {  // the offset up to which buckets have arrived
    const size_t next = shard_.buckets().size() - pending_.size();
    return pending_.empty() ? weights_.numel() : shard_.buckets()[next].begin;
  };
  while (arrived() < offset) {
    pending_.back()->wait();
    pending_.pop_back();
  }
  for (const auto& work : pending_) work->poll();
  const auto whole = [&](const Param& p) { return !p.spec.matrix || !p.trains() || p.offset + p.numel() <= arrived(); };
  const size_t first = refreshed_;
  while (refreshed_ < params_.params().size() && whole(params_.params()[refreshed_])) ++refreshed_;
  params_.refresh(ctx, {.first_param = first, .last_param = refreshed_});
}

}  // namespace weft
