// tensor/ops.h: declares all ops, which every backend implements. Rules for all ops:
//   tensors are row-major views of the caller's memory; ops neither allocate nor wait, but enqueue on ctx's stream;
//   ops overwrite activations (=) and accumulate parameter gradients (+=);
//   all tensors of an op have the same type T (f32, bf16 or f16) unless noted; ids and offsets are i32;
//   parameter gradients, statistics, biases and all arithmetic are f32 or f64; ops are deterministic;
//   a GEMM may round its bias to c's type before adding it, which changes it by at most half a unit in the last place.
// op_checks.cpp checks the shapes for all backends. A dry run only checks arguments and measures scratch memory.
// Legend: R rows, D width, N heads, K head size, F feed-forward, V vocabulary columns, B sentences; "?": may be empty.
#pragma once

#include <array>
#include <cstdint>

#include "tensor/context.h"
#include "tensor/op/activation.h"
#include "tensor/op/loss_ops.h"
#include "tensor/op/norm_kind.h"
#include "tensor/op/step_scalars.h"
#include "tensor/op/weight.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace weft {

namespace ops {

// x = value; x has any shape.
struct Fill {
  Tensor x;
  float value = 0;
};
// y += x. The shapes are equal. The type of x is T or f32.
struct Add {
  Tensor x, y;
};
// y = x, rounded to nearest. The shapes are equal. The types may differ: each is f32, bf16 or f16.
struct Cast {
  Tensor x, y;
};

// An epilogue changes a GEMM's result. activate: c = act(c). differentiate: c = c * act'(x), where x was act's input.
struct Epilogue {
  enum class Kind : uint8_t { none, activate, differentiate };
  Kind kind = Kind::none;
  Activation activation = Activation::relu;
  Tensor saved;  // [saved_numel] of c's type: activate writes it unless it is empty, and differentiate reads it.
};               //   If saved_numel is 0, differentiate reads here the c that activate wrote
// Returns how many elements `activate` saves for `differentiate` if c is [rows, cols]: bits, inputs or nothing.
int64_t saved_numel(Device device, Activation activation, DType storage, int64_t rows, int64_t cols);

struct Gemm {  // c = op(a) op(b) (+ bias) (+ c); a, b and c may be column slices
  Tensor a;    // [M, K], or [K, M] if trans_a
  Weight b;    // [K, N], or [N, K] if trans_b
  Tensor c;    // [M, N] out, T or f32
  bool trans_a = false, trans_b = false;
  Tensor bias;              // [N]? f32, added to every row
  Tensor rounded_bias;      // [N]? T, the bias rounded like the weights, for backends that add it in T
  bool accumulate = false;  // add to c instead of overwriting it
  Epilogue epilogue;        // requires !accumulate; `differentiate` also requires no bias
  Tensor d_bias;            // [M]? f32 accumulated: sums of a's columns, the bias's gradient if c is the weight's
};                          //   requires trans_a, c in f32, no bias and no epilogue
struct PackWeight {         // fills the packed copies that have memory; unused on devices whose packed_numel is 0
  Weight weight;
};

// y [D] f32 += sum over the rows of x [R, D]: the gradient of a bias.
struct ColumnSum {
  Tensor x, y;
};

struct ActivationForward {  // y = dropout(act(x))
  Tensor x, y;              // [R, F]; y may be x
  Activation kind;
  Dropout dropout;
};
struct ActivationBackward {
  Tensor x;         // [R, F] forward's input; not needed by relu
  Tensor y;         // [R, F] needed only by relu: forward's output, which is nonzero where x > 0 and dropout kept it
  Tensor d_y, d_x;  // [R, F]; d_x may be d_y
  Activation kind;
  Dropout dropout;
};

// Gated linear units (Dauphin et al. 2017; Shazeer 2020): y = dropout(act(gate) * value).
struct GatedActivationForward {
  Tensor gate, value;  // [R, F]; may be column slices of one fused tensor
  Tensor y;            // [R, F] out
  Activation kind;
  Dropout dropout;
};
struct GatedActivationBackward {
  Tensor gate, value;      // [R, F] forward's inputs
  Tensor d_y;              // [R, F]
  Tensor d_gate, d_value;  // [R, F] out; may be gate and value
  Activation kind;
  Dropout dropout;
};

struct DropoutAddForward {  // y = residual + dropout(x + bias)
  Tensor residual;          // [R, D]?
  Tensor x;                 // [R, D]
  Tensor bias;              // [D]? f32
  Tensor y;                 // [R, D] out; may be x or residual
  Dropout dropout;
};
struct DropoutBackward {
  Tensor d_y, d_x;  // [R, D]; d_x may be d_y
  Dropout dropout;
};

struct NormForward {
  Tensor x;            // [R, D]
  Tensor gamma, beta;  // [D] f32; beta if the kind uses it
  Tensor y;            // [R, D] out
  Tensor mean, rstd;   // [R] f32 out, saved for backward; mean if the kind is centered
  NormKind kind = NormKind::layer;
  float eps = 1e-5f;
};
struct NormBackward {
  Tensor d_y, x;           // [R, D]
  Tensor gamma;            // [D] f32
  Tensor mean, rstd;       // [R] f32 saved by forward
  Tensor d_residual;       // [R, D]? added to d_x: the gradient that bypasses the norm (pre-norm)
  Tensor d_x;              // [R, D] out; may be d_y or d_residual
  Tensor d_gamma, d_beta;  // [D] f32 accumulated
  Tensor partial;          // [kNormPartials, 2, D] f32 scratch
  NormKind kind = NormKind::layer;
  bool sums_later = false;  // norm_sums will add d_gamma and d_beta from partial
};
// Norms sum gradients over this many ranges of rows and add the ranges in order, so results do not depend on threads.
inline constexpr int64_t kNormPartials = 132;

struct ResidualNormForward {  // h = residual + dropout(x + bias), y = norm(h): the end of a sublayer, in one pass
  Tensor residual;            // [R, D]
  Tensor x;                   // [R, D]
  Tensor bias;                // [D]? f32
  Tensor gamma, beta;         // [D] f32; beta if the kind uses it
  Tensor h;                   // [R, D] out, rounded to T before the norm; may be x or residual
  Tensor y;                   // [R, D] out
  Tensor mean, rstd;          // [R] f32 out, of h, saved for backward; mean if the kind is centered
  Dropout dropout;
  NormKind kind = NormKind::layer;
  float eps = 1e-5f;
};
struct ResidualNormBackward {
  Tensor d_y, h;           // [R, D]
  Tensor gamma;            // [D] f32
  Tensor mean, rstd;       // [R] f32 saved by forward
  Tensor d_residual;       // [R, D]? added to d_h: the gradient that bypasses the norm (pre-norm)
  Tensor d_h;              // [R, D] out, the gradient of h and of `residual`; may be d_y or d_residual
  Tensor d_x;              // [R, D] out: dropout of the unrounded d_h; may be d_y or, without dropout, d_h
  Tensor d_gamma, d_beta;  // [D] f32 accumulated
  Tensor d_bias;           // [D]? f32 accumulated: the sum over the rows of the unrounded d_x
  Tensor partial;          // [kNormPartials, 3, D] f32 scratch
  Dropout dropout;
  NormKind kind = NormKind::layer;
  bool sums_later = false;  // norm_sums will add d_gamma, d_beta and d_bias from partial
};
struct NormSums {  // adds the sums of several norms whose backward passes had sums_later
  struct Norm {    // arguments of the backward pass
    Tensor partial, d_gamma, d_beta, d_bias;
  };
  static constexpr size_t kMax = 3;
  std::array<Norm, kMax> norms;  // entries without `partial` are unused
};

struct EmbeddingForward {  // y = scale * table[id - first_id], or 0 if another rank holds the id or the row is cut
  Tensor ids;              // [R] i32; negative ids give 0
  Tensor table;            // [V, D] rows of this rank; f32, bf16 or f16
  int64_t first_id = 0;
  float scale = 1;
  Tensor y;     // [R, D] out, in any storage
  Dropout cut;  // of [R, 1]: the rows that it drops are 0; the others are not scaled
};
// Sorted ids with their rows: equal ids are adjacent, and the rows of equal ids ascend.
struct SortedIds {
  SortedIds() = default;
  explicit SortedIds(const Tensor& sorted)  // [2 R] i32, from sort_ids() in op/sorted_ids.h
      : ids(sorted.slice_rows(0, sorted.numel() / 2)), rows(sorted.slice_rows(ids.numel(), ids.numel())) {}
  Tensor ids, rows;  // [R] i32 each
};
struct EmbeddingBackward {  // d_table[ids[i] - first_id] += scale * d_y[rows[i]], where this rank holds the id
                            //   and the row is not cut
  SortedIds sorted;
  Tensor d_y;  // [R, D]
  int64_t first_id = 0;
  float scale = 1;
  Tensor d_table;  // [V, D] f32 accumulated
  Dropout cut;     // as in EmbeddingForward
};
struct AddPositions {  // y = dropout(x + table[position])
  Tensor x;            // [R, D]
  Tensor positions;    // [R] i32, each less than P
  Tensor table;        // [P, D] f32
  Tensor y;            // [R, D] T out; may be x
  Dropout dropout;
};

// Rotary positions (Su et al. 2021): rotates pair i of a head's columns by the angle position * 10000^(-2i/K).
struct Rotary {
  Tensor x;          // [R, N*K]; may be a column slice of a fused tensor
  Tensor positions;  // [R] i32, each less than P
  Tensor table;      // [P, K] f32: column 2i is the sine of pair i's angle, column 2i + 1 the cosine
  Tensor y;          // [R, N*K] out; may be x
  int64_t heads = 1;
  bool halves = false;   // pairs are columns i and i + K/2 (GPT-NeoX, Llama); otherwise 2i and 2i + 1 (the paper)
  bool inverse = false;  // rotates by minus the angle, for the gradient
};

// Sentence i has the rows begin[i] <= row < end[i]. Given offsets [B + 1], begin is offsets[:B] and end is offsets[1:].
struct SequenceRanges {
  Tensor begin, end;    // [B] i32 each
  int64_t longest = 0;  // max rows of a sentence, which bounds scratch memory; 0: all rows of the tensor
  Tensor of_row = {};   // [R]? i32: the sentence of each row, or -1; avoids a search in begin and end
  Tensor pieces = {};   // i32?: how AttentionBackward divides these queries (op/attention_pieces.h)
};

// Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1): the queries of a sentence attend to the keys of
// the same sentence. Self-attention and cross-attention differ only in their ranges. Each head has K consecutive
// columns. If k and v have fewer heads than q, query head h reads head h / (N / Nkv) of k and v. This is grouped-query
// attention (Ainslie et al. 2023) or, if Nkv = 1, multi-query attention (Shazeer 2019). d_k and d_v are then sums over
// the query heads that share a head. In rows that belong to no sentence, y, d_q, d_k and d_v are 0.
struct AttentionForward {
  Tensor q;                       // [Rq, N*K]  q, k, v may be column slices of one fused tensor
  Tensor k, v;                    // [Rk, Nkv*K]
  SequenceRanges q_rows, k_rows;  // B sentences each
  Tensor y;                       // [Rq, N*K] out
  Tensor lse;                     // [N, Rq] f32 out, log-sum-exp of a row's scaled scores; empty for inference
  int64_t heads = 1;              // N, on this rank
  int64_t kv_heads = 0;           // Nkv, which divides N; 0: N
  bool causal = false;            // query j sees keys 0..j of its sentence
  float scale = 1;                // usually K^-1/2
  Dropout dropout;  // of probabilities, with global index dropout.first + (head * Rq + q_row) * row_stride + k_row;
};                  //   `head` is local, dropout.first is the index of this rank's first head, row_stride = Rk
struct AttentionBackward {
  Tensor q, k, v;
  SequenceRanges q_rows, k_rows;  // a GPU needs both `of_row`, and `pieces` of q_rows
  Tensor y, lse;                  // written by forward
  Tensor d_y;                     // [Rq, N*K]
  Tensor d_q, d_k, d_v;           // out (=); may be column slices of one fused tensor
  int64_t heads = 1, kv_heads = 0;
  bool causal = false;
  float scale = 1;
  Dropout dropout;
};
// Computes attention probabilities for inspection, because the forward op does not store them. There is no mask and no
// dropout, as in cross-attention at inference: y[i, j] += factor * sum over the chosen heads of exp(scale * q_i . k_j -
// lse_i), where j counts the keys of row i's own sentence.
struct AttentionWeights {
  Tensor q, k;                            // [Rq, N*K], [Rk, Nkv*K]
  SequenceRanges q_rows, k_rows;          // B sentences each
  Tensor lse;                             // [N, Rq] f32 written by forward
  int64_t heads = 1, kv_heads = 0;        // N and Nkv, on this rank; Nkv = 0: N
  int64_t first_head = 0, num_heads = 1;  // the chosen heads; num_heads may be 0
  float scale = 1;
  float factor = 1;
  Tensor y;  // [Rq, W] f32, added to; W is at least the max number of keys of a sentence
};

// Adds the sum of x (f32) to y ([1] f64).
struct Sum {
  Tensor x, y;
};
// Adds the sum of squares of x (f32) to y ([1] f64). NaN and infinity propagate.
struct SumSquares {
  Tensor x, y;
};

// A step of an optimizer that updates each element separately (tensor/op/update_rules.h). All tensors are [n] f32.
enum class UpdateRule : uint8_t { adam, lion, schedule_free, descent };
struct Update {
  Tensor param, grad;
  Tensor first, second;  // [n]? num_moments(rule) moments that the rule keeps from earlier steps
  Tensor copy;           // [n]? bf16 or f16 out: the new parameters, rounded, for the next step's GEMMs
  Tensor average;        // [n]? moves toward the new parameters by the fraction scalars->average_rate
  UpdateRule rule = UpdateRule::adam;
  float beta1 = 0.9f, beta2 = 0.98f, eps = 1e-9f, weight_decay = 0;
  const StepScalars* scalars = nullptr;  // lr, grad_scale, average_rate and what the rule reads
};

// The elementwise part of Muon's step (Jordan et al. 2024), before the iterations on matrices. Tensors are [n] f32. If
// g is the scaled gradient, the new momentum is m = momentum m + (1 - momentum) g. Nesterov's update uses the new m: u
// = momentum m + (1 - momentum) g.
struct MuonMomentum {
  Tensor grad;  // in: the gradient, out: u
  Tensor m;
  float momentum = 0.95f;
  const StepScalars* scalars = nullptr;  // grad_scale
};
// y = alpha x / max(norm, eps) + beta y. Shapes are equal; x and y may be column slices. If beta is 0, y is not read.
struct ScaleAdd {
  Tensor x, y;  // [R, C] each f32, bf16 or f16
  float alpha = 1, beta = 0;
  Tensor norm_square;  // [1]? f64: the square of `norm`; if empty, there is no division
  float eps = 0;
};

// Sets initial values, which depend on an element's index in the *global* tensor, so that every grid starts the same.
// The local tensor [outer, dim, inner] is the slice of [outer, global_dim, inner] that starts at `begin`. Its element
// (o, i, r) has global index (o * global_dim + begin + i) * inner + r. Elements beyond global_dim are 0.
struct Init {
  enum class Kind : uint8_t { constant, uniform, normal };
  Tensor x;  // [outer * dim * inner] out
  int64_t outer = 1, dim = 1, inner = 1, begin = 0, global_dim = 1;
  Kind kind = Kind::constant;
  float value = 0;  // the constant, the bound of U(-value, value], or the standard deviation
  uint64_t seed = 0;
  uint32_t purpose = 0;
};

// y[i] = x[rows[i]], for decoding; x [N, W], rows [M] i32, y [M, W].
struct GatherRows {
  Tensor x, rows, y;
};
// y[rows[i]] = x[i]; x [M, W], rows [M] i32 (distinct), y [N, W].
struct ScatterRows {
  Tensor x, rows, y;
};
// Finds the k largest of a row's first `valid` columns, largest first, then lower column first. With `classes`, a
// column counts as -inf in row r unless bit classes[column] of allowed[r] is set.
struct TopK {
  Tensor x;  // [R, V]
  int64_t valid = 0;
  Tensor values;   // [R, k] out f32
  Tensor columns;  // [R, k] out i32
  Tensor classes;  // [V] i32, 0 to 31, or empty
  Tensor allowed;  // [R] i32; empty without classes
};

// Lists each op: its function, its arguments, and the part of a training step to which its time counts.
#define WEFT_OPS(OP)                                                  \
  OP(fill, Fill, elementwise)                                         \
  OP(add, Add, elementwise)                                           \
  OP(cast, Cast, elementwise)                                         \
  OP(gemm, Gemm, gemm)                                                \
  OP(pack_weight, PackWeight, optimizer)                              \
  OP(column_sum, ColumnSum, elementwise)                              \
  OP(activation_forward, ActivationForward, elementwise)              \
  OP(activation_backward, ActivationBackward, elementwise)            \
  OP(gated_activation_forward, GatedActivationForward, elementwise)   \
  OP(gated_activation_backward, GatedActivationBackward, elementwise) \
  OP(dropout_add_forward, DropoutAddForward, elementwise)             \
  OP(dropout_backward, DropoutBackward, elementwise)                  \
  OP(norm_forward, NormForward, normalization)                        \
  OP(norm_backward, NormBackward, normalization)                      \
  OP(residual_norm_forward, ResidualNormForward, normalization)       \
  OP(residual_norm_backward, ResidualNormBackward, normalization)     \
  OP(norm_sums, NormSums, normalization)                              \
  OP(embedding_forward, EmbeddingForward, embedding)                  \
  OP(embedding_backward, EmbeddingBackward, embedding)                \
  OP(add_positions, AddPositions, embedding)                          \
  OP(rotary, Rotary, elementwise)                                     \
  OP(attention_forward, AttentionForward, attention)                  \
  OP(attention_backward, AttentionBackward, attention)                \
  OP(attention_weights, AttentionWeights, other)                      \
  OP(softmax_stats, SoftmaxStats, cross_entropy)                      \
  OP(cross_entropy, CrossEntropy, cross_entropy)                      \
  OP(consistency_stats, ConsistencyStats, cross_entropy)              \
  OP(consistency_loss, ConsistencyLoss, cross_entropy)                \
  OP(sum, Sum, cross_entropy)                                         \
  OP(sum_squares, SumSquares, optimizer)                              \
  OP(update, Update, optimizer)                                       \
  OP(muon_momentum, MuonMomentum, optimizer)                          \
  OP(scale_add, ScaleAdd, optimizer)                                  \
  OP(init, Init, other)                                               \
  OP(gather_rows, GatherRows, other)                                  \
  OP(scatter_rows, ScatterRows, other)                                \
  OP(top_k, TopK, other)

#define WEFT_DECLARE_OP(function, Arguments, ...) void function(Context& ctx, const Arguments& a);
WEFT_OPS(WEFT_DECLARE_OP)

}  // namespace ops

namespace cpu {  // the same list for tensor/cpu/*.cpp
#define WEFT_DECLARE_CPU_OP(function, Arguments, ...) void function(Context& ctx, const ops::Arguments& a);
WEFT_OPS(WEFT_DECLARE_CPU_OP)
}  // namespace cpu

}  // namespace weft
