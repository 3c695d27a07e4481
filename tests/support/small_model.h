// tests/support/small_model.h: small models on the device under test, random blocks, and loss with gathered gradients
// on any dp x tp grid of thread ranks.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "parallel/mesh.h"
#include "tensor/device_scalars.h"
#include "tests/support/block_loss.h"
#include "tests/support/device_group.h"

namespace weft::testing {

inline ModelConfig small_config() {
  ModelConfig c;
  c.width = 12, c.heads = 4, c.feed_forward = 20, c.encoder_layers = 2, c.decoder_layers = 2;
  c.source_vocabulary = c.target_vocabulary = 11;
  c.dropout = 0;
  return c;
}

// Gives each sentence a weight: 0, 0.5, 1, 1.5, ... of a pattern that differs from block to block.
inline void add_weights(std::vector<Block>& blocks) {
  int n = 0;
  for (Block& block : blocks) {
    block.weights.assign(block.target_in.size(), 0);
    for (size_t i = 0; i + 1 < block.target_offsets.size(); ++i)
      std::fill(block.weights.begin() + block.target_offsets[i], block.weights.begin() + block.target_offsets[i + 1],
                0.5f * static_cast<float>(n++ % 5));
  }
}

// Blocks of random sentences of 1 to max_length tokens, usually with some unused rows.
inline std::vector<Block> random_blocks(const ModelConfig& c, int count, int64_t source_rows, int64_t target_rows,
                                        int max_length, uint64_t seed) {
  uint64_t n = 0;
  const auto draw = [&](int64_t limit) {
    return static_cast<int64_t>(random_bits(seed, n++, 0, purpose_of("test")) % static_cast<uint64_t>(limit));
  };
  const auto sentence = [&](int64_t vocabulary) {
    std::vector<int32_t> ids(static_cast<size_t>(1 + draw(max_length)));
    for (int32_t& id : ids) id = static_cast<int32_t>(3 + draw(vocabulary - 3));
    return ids;
  };
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    BlockBuilder builder(source_rows, target_rows);
    int64_t s = 0, t = 0;
    for (;;) {
      const auto source = sentence(c.source_vocabulary), target = sentence(c.target_vocabulary);
      s += static_cast<int64_t>(source.size()) + 1, t += static_cast<int64_t>(target.size()) + 1;
      if (s > source_rows || t > target_rows) break;
      builder.add(source, target);
    }
    blocks.push_back(builder.finish(i));
  }
  return blocks;
}

struct GridResult {
  BlockLoss loss;                                       // sums over all blocks
  std::map<std::string, std::vector<float>> gradients;  // by parameter, global layout
};

// One rank's model with everything it needs.
struct SmallModel {
  SmallModel(ModelConfig config, Communicator& tp_group, uint64_t seed, size_t arena_bytes = 64 << 20,
             DType storage = DType::f32, Device device = test_device())
      : ctx(device),
        group(ctx, tp_group),
        tp(*group),
        params(tp_group.rank(), tp_group.size(), storage, device),
        scalars(device),
        arena(arena_bytes, device) {
    config.resolve(tp_group.size());
    model = std::make_unique<Transformer>(config, params, /*num_positions=*/64);
    params.allocate();
    params.initialize(ctx, seed);
    shift_parameters();
  }
  // Initial biases are 0 and gains 1, so a missing one would not show. Each element moves by up to a tenth,
  // depending on its index in the global tensor.
  void shift_parameters() {
    for (const Param& p : params.params()) {
      std::vector<float> shift(static_cast<size_t>(p.spec.shape.numel())), local(static_cast<size_t>(p.numel()));
      for (size_t i = 0; i < shift.size(); ++i)
        shift[i] = 0.2f * uniform_from_bits(random_bits(3, i, 0, purpose_of(p.spec.name))) - 0.1f;
      slice_from_global(p, shift.data(), local.data());
      change(ctx, p.value, [&](std::vector<float>& values) {
        for (size_t i = 0; i < local.size(); ++i) values[i] += local[i];
      });
    }
    params.round_values(ctx);
  }
  // Scalars of step 3; the loss is multiplied by `loss_scale`.
  Pass pass(int64_t block = 0, bool training = true, double loss_scale = 1) {
    scalars.set(ctx, {.step = 3, .block = block, .loss_scale = static_cast<float>(loss_scale)});
    return {.ctx = ctx, .arena = arena, .tp = tp, .seed = 7, .scalars = scalars.get(), .training = training};
  }

  Context ctx;
  DeviceGroup group;
  TensorParallel tp;
  ParamStore params;
  DeviceScalars scalars;
  Arena arena;
  std::unique_ptr<Transformer> model;
};

// Gathers parameters from ctx's device; `tp` exchanges host values.
inline std::map<std::string, std::vector<float>> gather(Context& ctx, const ParamStore& params, Communicator& tp,
                                                        bool gradients) {
  std::map<std::string, std::vector<float>> result;
  for (const Param& p : params.params()) {
    std::vector<float> local = to_host<float>(ctx, gradients ? p.grad : p.value);
    const int64_t numel = p.numel();
    std::vector<float> all(static_cast<size_t>(numel * tp.size()));
    tp.all_gather(Tensor(local.data(), {numel}), Tensor(all.data(), {tp.size(), numel}));
    std::vector<float>& global = result[p.spec.name];
    global.resize(static_cast<size_t>(p.spec.shape.numel()));
    for (int r = 0; r < (p.spec.tp_dim < 0 ? 1 : tp.size()); ++r)
      slice_to_global(p.spec, r, tp.size(), all.data() + r * numel, global.data());
  }
  return result;
}

inline constexpr uint64_t kSmallModelSeed = 5;  // of the initial values below

struct StepOptions {
  DType storage = DType::f32;
  bool sequence = false, recompute = false;
  LossOptions consistency = {};  // without smoothing
};

// Loss scale of a step in f16, so that its gradients are not subnormal.
inline double loss_scale_of(DType storage) { return storage == DType::f16 ? 1024 : 1; }

// One rank's part of a step; every rank gets the whole result.
inline GridResult run_on_mesh(const ModelConfig& config, const std::vector<Block>& blocks, const Mesh& mesh,
                              double smoothing, const StepOptions& options = {}) {
  SmallModel m(config, mesh.tp(), kSmallModelSeed, /*arena_bytes=*/8 << 20, options.storage);
  const DeviceGroup dp(m.ctx, mesh.dp());
  GradSync sync(m.ctx, *dp, m.params.grads(), Shard(m.params.matrix_numel(), 0, 1, /*bucket=*/256));
  sync.begin();
  double weight = 0;
  for (const Block& b : blocks) weight += b.target_weight();
  const size_t share = blocks.size() / static_cast<size_t>(mesh.dp().size());
  const size_t first = share * static_cast<size_t>(mesh.dp().rank());
  const double loss_scale = loss_scale_of(options.storage);
  LossOptions loss_options = options.consistency;
  loss_options.smoothing = smoothing;
  const LossTotal total(m.ctx.device());
  for (size_t i = first; i < first + share; ++i) {
    Pass p = m.pass(blocks[i].index, /*training=*/true, loss_scale / weight);
    p.sequence = options.sequence, p.recompute = options.recompute;
    total.add(m.ctx, m.model->loss_and_gradients(p, m.model->load(p, blocks[i]), loss_options,
                                                 i + 1 == first + share ? &sync : nullptr));
  }
  sync.wait();
  const BlockLoss loss = total.read(m.ctx);
  GridResult result{.loss = {.loss = mesh.dp().sum(loss.loss), .nll = mesh.dp().sum(loss.nll)},
                    .gradients = gather(m.ctx, m.params, mesh.tp(), /*gradients=*/true)};
  for (auto& [name, gradient] : result.gradients)
    for (float& x : gradient) x /= static_cast<float>(loss_scale);
  return result;
}

// The same on thread ranks, each on one core.
inline GridResult run_on_grid(const ModelConfig& config, const std::vector<Block>& blocks, int dp, int tp,
                              double smoothing, const StepOptions& options = {}) {
  GridResult result;
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    set_num_threads(1);
    const Mesh mesh(world, {.dp = dp, .tp = tp});
    GridResult mine = run_on_mesh(config, blocks, mesh, smoothing, options);
    if (world.rank() == 0) result = std::move(mine);
  });
  return result;
}

// Norm of the difference over norm.
inline double relative_error(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    norm += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / (norm > 0 ? norm : 1));
}

}  // namespace weft::testing
