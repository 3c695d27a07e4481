// trainer/flat_states.cpp: gathers shards for a save, and copies loaded states into the shards.
#include "trainer/flat_states.h"

#include <algorithm>

#include "tensor/transfer.h"

namespace weft {
namespace {

// With the schedule-free optimizer, the model is x, stored in the gradients' memory. take() also sets y and z from x.
FlatState schedule_free_model(Context& ctx, Communicator& dp, const ParamStore& params, const Optimizer& optimizer) {
  const int64_t matrices = params.matrix_numel();
  ParamBuffer x{params.grads().slice_rows(0, matrices), params.grads().slice_rows(matrices, params.vector_numel())};
  x.frozen = params.frozen_values();
  FlatState model{"model", "", x};
  model.gather = [&ctx, &dp, &optimizer, x] {
    optimizer.write_evaluation_weights(ctx, x);
    if (optimizer.sharded()) optimizer.shard().gather_in_place(dp, x.matrices);
  };
  model.take = [&ctx, &params, &optimizer, matrices, x] {
    if (!params.divided()) copy(ctx, x.matrices, params.values().slice_rows(0, matrices));
    copy(ctx, x.vectors, params.vector_values());
    params.round_values(ctx);
    optimizer.begin(ctx);
  };
  return model;
}

}  // namespace

FlatState frozen_state(const ParamStore& params) {
  const Tensor none = params.frozen_values().slice_rows(0, 0);
  ParamBuffer buffer(none, none);
  buffer.frozen = params.frozen_values();
  buffer.absent = {.begin = 0, .count = params.numel()};
  return {"model", "", buffer};
}

std::vector<FlatState> flat_states(Context& ctx, Communicator& dp, const ParamStore& params,
                                   const Optimizer& optimizer) {
  const Tensor whole = params.grads().slice_rows(0, params.matrix_numel());
  const Shard& shard = optimizer.shard();
  const auto gather = [&dp, &shard, whole](const Tensor& own) {
    return [&dp, &shard, whole, own] { shard.gather(dp, own, whole); };
  };
  const auto of_optimizer = [&](const char* kind, const std::string& prefix, const ParamBuffer& own) {
    FlatState state{kind, prefix, own};
    if (!optimizer.sharded()) return state;
    state.flat.matrices = whole;
    state.gather = gather(own.matrices);
    state.take = [&ctx, &shard, whole, own] { shard.take(ctx, whole, own.matrices); };
    return state;
  };
  const auto weights = [&](const char* kind, const char* prefix) {
    FlatState values{kind, prefix, params.value_buffer()};
    if (!params.divided()) return values;
    values.gather = gather(optimizer.master());
    values.take = [&ctx, &shard, &params, whole, master = optimizer.master()] {
      params.round_values(ctx);
      shard.take(ctx, whole, master);
    };
    return values;
  };
  std::vector<FlatState> states;
  if (optimizer.trains_elsewhere()) {
    states.push_back(schedule_free_model(ctx, dp, params, optimizer));
    states.push_back(weights("optimizer", optimizer.prefix_of_trained()));
  } else {
    states.push_back(weights("model", ""));
  }
  for (const OptimizerState& state : optimizer.states())
    states.push_back(state.is_average() ? of_optimizer(kAverageKind, kAveragePrefix, state.values)
                                        : of_optimizer("optimizer", state.prefix, state.values));
  for (FlatState& state : states)
    if (params.has_adapters() || state.kind == "optimizer") state.flat.frozen = {};
  std::ranges::sort(states, {}, &FlatState::prefix);
  return states;
}

}  // namespace weft
