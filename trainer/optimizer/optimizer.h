// trainer/optimizer/optimizer.h: updates the flat parameters, and computes sums for the gradient norm.
//
// An optimizer consists of an elementwise rule (tensor/op/update_rules.h) and its state; traits_of() defines both. Muon
// updates matrices and leaves the rest to Adam. If the matrices are sharded (parallel/shard.h), each rank updates and
// stores only its shard and all vectors, which are small. ParamGather then gathers the other ranks' weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/shard.h"
#include "tensor/enum_names.h"
#include "tensor/on_resume.h"
#include "trainer/optimizer/muon.h"
#include "trainer/optimizer/rate_sums.h"

namespace weft {

enum class OptimizerKind : uint8_t { adam, muon, schedule_free, lion };
constexpr EnumNames<OptimizerKind, 4> enum_names(OptimizerKind) {
  return {{{"adam", OptimizerKind::adam},
           {"muon", OptimizerKind::muon},
           {"schedule_free", OptimizerKind::schedule_free},
           {"lion", OptimizerKind::lion}}};
}

struct OptimizerTraits {
  ops::UpdateRule rule;           // for each element that Muon does not update
  const char *first, *second;     // prefixes of the rule's moments in checkpoints; nullptr: no moment
  const char* trained = nullptr;  // prefix of the training weights, if evaluation uses others
};
constexpr OptimizerTraits traits_of(OptimizerKind kind) {
  using Rule = ops::UpdateRule;
  if (kind == OptimizerKind::schedule_free)
    return {Rule::schedule_free, "schedule_free.z.", "schedule_free.v.", "schedule_free.y."};
  if (kind == OptimizerKind::lion) return {Rule::lion, "lion.m.", nullptr};
  return {Rule::adam, "adam.m.", "adam.v."};
}

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::adam;
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-9, weight_decay = 0, clip_norm = 0;
  double muon_momentum = 0.95;
  MuonAdjust muon_adjust = MuonAdjust::match_rms_adamw;

  template <typename V>
  void fields(V& v) {
    v("kind", kind,
      "adam; muon = orthogonalized momentum for matrices, and Adam for tables, biases and norms; schedule_free = AdamW "
      "that evaluates and saves a weighted mean of its weights (needs schedule.kind = constant); lion = updates by the "
      "sign of a momentum (needs a lower learning rate and more weight decay than Adam)",
      OnResume::optimizer);
    v("beta1", beta1,
      "Adam: decay of the first moment; schedule_free: share of the mean in the training weights; lion: share of the "
      "momentum in the update",
      OnResume::retrains);
    v("beta2", beta2, "Adam: decay of the second moment; lion: decay of the momentum", OnResume::retrains);
    v("eps", eps, "Adam: number added to the square root of the second moment", OnResume::retrains);
    v("weight_decay", weight_decay,
      "decoupled weight decay of matrices, multiplied by the learning rate; biases and norms never decay",
      OnResume::retrains);
    v("clip_norm", clip_norm, "global norm to which larger gradients are scaled; 0 = no clipping", OnResume::retrains);
    v("muon_momentum", muon_momentum, "muon: decay of the momentum", OnResume::retrains);
    v("muon_adjust", muon_adjust,
      "factor by which muon scales updates of A x B matrices: match_rms_adamw = 0.2 sqrt(max(A, B)), so that one "
      "learning rate suits both Muon and Adam; original = sqrt(max(1, A / B))",
      OnResume::retrains);
  }
};

// Returns the factor that clips a gradient of this norm to clip_norm: min(1, clip_norm / (norm + 1e-6)), as in
// PyTorch's clip_grad_norm_; 1 if clip_norm is 0.
double clip_scale(double norm, double clip_norm);

// The groups of ranks that share Muon's update: tp assembles split matrices, dp divides the work. nullptr: one rank.
struct OptimizerGroups {
  Communicator *tp = nullptr, *dp = nullptr;
};

// A state of an optimizer, laid out like the parameters: [shard().numel()] for the matrices, and all vectors.
struct OptimizerState {
  std::string prefix;  // prefix of a moment's tensors in a checkpoint; empty: the average of the weights
  std::string what;    // "the first moment of "
  ParamBuffer values;
  bool is_average() const { return prefix.empty(); }
};

struct OptimizerBytes {  // bytes of memory
  size_t master = 0, moments = 0, average = 0, workspace = 0;
};

class Optimizer {
 public:
  // `shard` is this rank's part of the matrices of `params`, by default all matrices. `ema` is the decay of the average
  // of the weights (weight_average.h); 0: no average. If `params` has only planned memory, so has the optimizer.
  Optimizer(const ParamStore& params, const OptimizerConfig& config, const Shard& shard, double ema = 0,
            OptimizerGroups groups = {});
  Optimizer(const ParamStore& params, const OptimizerConfig& config)
      : Optimizer(params, config, Shard(params.matrix_numel(), 0, 1, /*bucket=*/int64_t{1} << 62)) {}

  // Adds the sum of squared gradients to `split` for parameters split over tp, and to `whole` for all others. With a
  // sharded optimizer, only the sums over all dp ranks contain the complete gradient.
  void add_squares(Context& ctx, const Tensor& split, const Tensor& whole) const;

  // Counts a step and sets its scalars. `grad_scale`, the clipping factor / loss scale, multiplies the gradients.
  void next_step(StepScalars& scalars, double lr, double grad_scale);
  // Updates values, moments, average and all copies of the values. With Muon, all ranks must call this, and the
  // gradients are overwritten. REQUIRES: next_step() has set `scalars`, and they are on the device.
  void update(Context& ctx, const StepScalars* scalars) const;

  int64_t steps() const { return steps_; }
  void set_steps(int64_t n) { steps_ = n; }

  bool sharded() const { return shard_.ranks() > 1; }
  const Shard& shard() const { return shard_; }
  const RateSums& rate_sums() const { return rate_sums_; }
  void set_rate_sums(const RateSums& sums) { rate_sums_ = sums; }

  bool trains_elsewhere() const { return traits_.trained != nullptr; }
  const char* prefix_of_trained() const { return traits_.trained; }  // REQUIRES: trains_elsewhere()
  // Copies the current weights to master(), if it exists, and to z of schedule-free steps, from which updates start.
  // REQUIRES: ParamStore::value_buffer() contains all weights.
  void begin(Context& ctx) const;

  // Returns the moments, followed by the average if there is one.
  std::vector<OptimizerState> states() const;
  ParamBuffer first_moment() const { return values_of(kept_[0]); }
  ParamBuffer average() const { return values_of(kept_.back()); }
  OptimizerBytes bytes() const;
  // Returns the f32 values of this rank's shard of the matrices. REQUIRES: ParamStore::divided().
  Tensor master() const { return master_.tensor({shard_.numel()}); }

  bool has_average() const { return ema_ > 0; }
  // Sets the average to the current weights. REQUIRES: at least this rank's shard is up to date.
  void begin_average(Context& ctx) const;

  // Returns true if the model is not evaluated with its training weights (trainer/optimizer/evaluation_weights.h).
  bool has_evaluation_weights() const { return has_average() || trains_elsewhere(); }
  // Writes the evaluation weights of this rank's shard and all vectors to `whole`: the average, or x of schedule-free
  // steps (ScheduleFreeRule). `whole` is laid out like the parameters, and may be their memory.
  void write_evaluation_weights(Context& ctx, const ParamBuffer& whole) const;

 private:
  // Adjacent elements of this rank that share a property.
  struct Piece {
    ParamRange range;
    int64_t place = 0;  // position of range.begin in the moments
    int64_t count() const { return range.end - range.begin; }
  };
  struct Kept {
    std::string prefix, what;
    ParamBuffer::Hole absent;  // elements without this state: Muon's matrices have no second moment
    Buffer memory;
  };

  void keep(const char* prefix, const char* what, const ParamBuffer::Hole& absent = {});
  std::vector<Piece> own_pieces(const std::vector<ParamRange>& ranges) const;
  ParamBuffer values_of(const Kept& kept) const;
  Tensor weights_of(const Piece& piece) const;
  Tensor grads_of(const Piece& piece) const { return params_.grads().slice_rows(piece.range.begin, piece.count()); }
  Tensor copy_of(const Piece& piece) const;
  void copy_values(Context& ctx, const ParamBuffer& to) const;
  void update_piece(Context& ctx, ops::UpdateRule rule, const Piece& piece, const StepScalars* scalars) const;
  void update_by_muon(Context& ctx, const StepScalars* scalars) const;

  const ParamStore& params_;
  const OptimizerConfig config_;
  const OptimizerTraits traits_;
  double ema_;
  Shard shard_;
  std::optional<Muon> muon_;
  std::vector<Piece> by_decay_, by_split_;
  std::vector<Piece> of_muon_;  // pieces that Muon updates; by_decay_ contains all others
  std::vector<Kept> kept_;      // moments and the average
  Buffer master_;
  RateSums rate_sums_;
  int64_t steps_ = 0;  // number of updates, which excludes skipped steps
};

}  // namespace weft
