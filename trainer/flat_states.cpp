// trainer/flat_states.cpp: gathers shards, and takes them back.
#include "trainer/flat_states.h"

#include "tensor/transfer.h"

namespace weft {

namespace {

// The model is x, whose place is the gradients' memory; y and z are the state that goes on from it.
std::vector<FlatState> schedule_free_states(Context& ctx, const ParamStore& params, const Optimizer& optimizer) {
  const Tensor x = params.grads(), y = params.values();
  const ParamBuffer whole{x.slice_rows(0, params.matrix_numel()),
                          x.slice_rows(params.matrix_numel(), params.vector_numel())};
  FlatState model{"model", "", whole};
  model.gather = [&ctx, &optimizer, whole] { optimizer.write_evaluation_weights(ctx, whole); };
  model.take = [&ctx, &params, &optimizer, x, y] {
    copy(ctx, x, y);
    params.round_values(ctx);
    optimizer.begin(ctx);
  };
  return {model,
          {"optimizer", "schedule_free.v.", optimizer.second_moment()},
          {"optimizer", "schedule_free.y.", y},
          {"optimizer", "schedule_free.z.", optimizer.first_moment()}};
}

}  // namespace

std::vector<FlatState> flat_states(Context& ctx, Communicator& dp, const ParamStore& params,
                                   const Optimizer& optimizer) {
  if (optimizer.is_schedule_free()) return schedule_free_states(ctx, params, optimizer);
  const ParamBuffer m = optimizer.first_moment(), v = optimizer.second_moment();
  if (!optimizer.sharded())
    return {{"model", "", params.values()}, {"optimizer", "adam.m.", m}, {"optimizer", "adam.v.", v}};

  const Tensor whole = params.grads().slice_rows(0, params.matrix_numel());
  const Shard& shard = optimizer.shard();
  const auto gather = [&dp, &shard, whole](const Tensor& own) {
    return [&dp, &shard, whole, own] { shard.gather(dp, own, whole); };
  };
  const auto moment = [&](const char* prefix, const ParamBuffer& own) {
    return FlatState{.kind = "optimizer",
                     .prefix = prefix,
                     .flat = {whole, own.vectors},
                     .gather = gather(own.matrices),
                     .take = [&ctx, &shard, whole, own] { shard.take(ctx, whole, own.matrices); }};
  };
  FlatState values{"model", "", params.value_buffer()};
  if (params.divided()) {
    values.gather = gather(optimizer.master());
    values.take = [&ctx, &shard, &params, whole, master = optimizer.master()] {
      params.round_values(ctx);
      shard.take(ctx, whole, master);
    };
  }
  return {values, moment("adam.m.", m), moment("adam.v.", v)};
}

}  // namespace weft
