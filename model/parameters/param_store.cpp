// model/parameters/param_store.cpp: implements declarations, flat memory, initial values, and slices of global tensors.
#include "model/parameters/param_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/parameters/memory_limit.h"
#include "tensor/error.h"
#include "tensor/op/quantize.h"

namespace weft {
namespace {

constexpr int64_t kAlignment = 16;  // elements: 64 bytes, a cache line

int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

void check(const ParamSpec& spec, int tp_size) {
  if (spec.tp_dim < -1 || spec.tp_dim >= spec.shape.rank() || spec.shape.numel() <= 0) {
    fail(ErrorKind::internal, fmt::format("parameter {} of shape {} cannot be declared with tp_dim {}", spec.name,
                                          spec.shape.str(), spec.tp_dim));
  }
  if (spec.tp_dim >= 0 && !spec.pad && spec.shape[spec.tp_dim] % tp_size != 0) {
    fail(ErrorKind::usage, fmt::format("parameter {} of shape {}: dimension {} with {} entries cannot be split over "
                                       "parallel.tp = {} ranks; change parallel.tp, model.heads or model.feed_forward",
                                       spec.name, spec.shape.str(), spec.tp_dim, spec.shape[spec.tp_dim], tp_size));
  }
}

// Describes a rank's slice [outer, dim, inner] of a global tensor [outer, global_dim, inner], from `begin` on. A tensor
// that is not split is one slice of a single dimension.
struct SliceView {
  int64_t outer = 1, dim = 1, inner = 1, begin = 0, global_dim = 1;

  int64_t valid() const { return std::clamp<int64_t>(global_dim - begin, 0, dim); }  // the rest of dim is padding
  int64_t position(int64_t o) const { return (o * global_dim + std::min(begin, global_dim)) * inner; }  // global
};

int64_t local_dim(const ParamSpec& spec, int tp_size) {
  return spec.tp_dim < 0 ? 0 : (spec.shape[spec.tp_dim] + tp_size - 1) / tp_size;
}

SliceView view_of(const ParamSpec& spec, int64_t begin, int64_t dim) {
  if (spec.tp_dim < 0) return {.dim = spec.shape.numel(), .global_dim = spec.shape.numel()};
  SliceView view{.dim = dim, .begin = begin, .global_dim = spec.shape[spec.tp_dim]};
  for (int i = 0; i < spec.tp_dim; ++i) view.outer *= spec.shape[i];
  for (int i = spec.tp_dim + 1; i < spec.shape.rank(); ++i) view.inner *= spec.shape[i];
  return view;
}

SliceView view_of(const Param& p) {
  return view_of(p.spec, p.begin, p.spec.tp_dim < 0 ? 0 : p.value.dim(p.spec.tp_dim));
}

}  // namespace

InitSpec InitSpec::xavier(int64_t fan_in, int64_t fan_out) {
  const double bound = std::sqrt(6.0 / static_cast<double>(fan_in + fan_out));
  return {ops::Init::Kind::uniform, static_cast<float>(bound)};
}

const Param* ParamStore::declare(ParamSpec spec) {
  require(!laid_out_, ErrorKind::internal, "a parameter is declared after lay_out()");
  if (find(spec.name)) fail(ErrorKind::internal, fmt::format("parameter {} is declared twice", spec.name));
  check(spec, tp_size_);

  const int64_t dim = local_dim(spec, tp_size_);
  Shape local = spec.shape;
  if (spec.tp_dim >= 0) local[spec.tp_dim] = dim;
  Param& p = params_.emplace_back();
  p.spec = std::move(spec);
  p.spec.trains = use_ != ParamUse::training || p.spec.adapter || !frozen_names_.match(p.spec.name);
  has_adapters_ = has_adapters_ || p.spec.adapter;
  p.value = p.grad = Tensor(nullptr, local, DType::f32, device_);
  p.compute = Tensor(nullptr, local, compute_, device_);
  int64_t& end = p.spec.matrix ? (p.trains() ? matrix_numel_ : frozen_matrix_numel_)
                               : (p.trains() ? vector_numel_ : frozen_vector_numel_);
  p.offset = end;  // lay_out() moves all but the matrices that train
  p.begin = tp_rank_ * dim;
  end += round_up(p.numel(), kAlignment);
  return &p;
}

// Tensors have no memory before allocate(); a dry run uses only their shapes.
void ParamStore::use_as_matrix(const Param* p, int64_t rows) {
  require(!laid_out_, ErrorKind::internal, "use_as_matrix() is called after lay_out()");
  const auto it = std::find_if(params_.begin(), params_.end(), [&](const Param& q) { return &q == p; });
  require(it != params_.end(), ErrorKind::internal, "the weight belongs to a different store");
  const int64_t cols = p->numel() / rows;
  it->weight.matrix = p->compute.with_shape({rows, cols});
  const auto packed = [&](int64_t numel) {
    packed_numel_ += numel;
    return numel > 0 ? Tensor(nullptr, {numel}, compute_, device_) : Tensor();
  };
  it->weight.packed_forward = packed(ops::packed_numel(device_, compute_, cols, rows));
  it->weight.packed_backward = packed(ops::packed_numel(device_, compute_, rows, cols));
}

// Checks before memory is allocated, because Linux would kill the process without a message.
void ParamStore::require_memory() const {
  const bool has_grads = use_ == ParamUse::training;
  const int64_t all = numel() + frozen_numel();
  const int64_t copies = (mixed() ? all : 0) + packed_numel_;
  const size_t bytes = static_cast<size_t>(all + (has_grads ? numel() : 0)) * sizeof(float) +
                       static_cast<size_t>(copies) * size_of(compute_) + (has_grads ? 0 : inference_bytes());
  const size_t limit = memory_limit();
  const auto gib = [](size_t n) { return static_cast<double>(n) / (size_t{1} << 30); };
  if (device_ == Device::cpu && bytes > limit)
    fail(ErrorKind::usage,
         fmt::format("{} parameters need {:.1f} GiB{}, but this machine or its control group allows only {:.1f} GiB: "
                     "lower model.width, or use more machines and a higher parallel.tp",
                     all, gib(bytes), has_grads ? " with their gradients" : "", gib(limit)));
}

void ParamStore::lay_out(int shards) {
  require(!laid_out_, ErrorKind::internal, "lay_out() is called twice");
  laid_out_ = true;
  divided_ = shards > 1 && mixed() && use_ == ParamUse::training;
  matrix_numel_ = round_up(matrix_numel_, shards * kAlignment);
  int64_t end = matrix_numel_;
  for (const bool sums_rows : {false, true}) {
    row_sums_begin_ = end;
    for (Param& p : params_) {
      if (!p.trains() || p.spec.matrix || p.spec.sums_rows != sums_rows) continue;
      p.offset = end;
      end += round_up(p.numel(), kAlignment);
    }
  }
  for (Param& p : params_)
    if (!p.trains()) p.offset += p.spec.matrix ? end : end + frozen_matrix_numel_;
}

void ParamStore::allocate(int shards) {
  require(!planned_, ErrorKind::internal, "a store for planning has no memory");
  require_memory();
  make_buffers(shards);
  if (use_ != ParamUse::training) add_inference_copies();
}

void ParamStore::plan(int shards) {
  require(planned_, ErrorKind::internal, "only a store for planning can be planned");
  make_buffers(shards);
}

Buffer ParamStore::buffer_of(size_t bytes) const {
  return planned_ ? Buffer::planned(bytes, device_) : Buffer(bytes, device_);
}

void ParamStore::make_buffers(int shards) {
  lay_out(shards);
  const auto floats = [](int64_t n) { return static_cast<size_t>(n) * sizeof(float); };
  const size_t copies = size_of(compute_);
  values_ = buffer_of(floats(divided_ ? vector_numel_ : numel()));
  if (use_ == ParamUse::training) grads_ = buffer_of(floats(numel()));
  frozen_ = buffer_of(floats(frozen_numel()));
  unread_grads_ = buffer_of(floats(frozen_vector_numel_));
  if (mixed()) rounded_ = buffer_of(static_cast<size_t>(numel() + frozen_numel()) * copies);
  packed_ = buffer_of(static_cast<size_t>(packed_numel_) * copies);
  for (Param& p : params_) {
    const Shape shape = p.value.shape;
    if (use_ == ParamUse::training) p.grad = grad_of(p);
    p.value = value_buffer().of(p).with_shape(shape);
    p.compute = mixed() ? rounded_.tensor(shape, compute_, static_cast<size_t>(p.offset) * copies) : p.value;
  }
  name_packed();
}

Tensor ParamStore::grad_of(const Param& p) const {
  const auto bytes = [](int64_t n) { return static_cast<size_t>(n) * sizeof(float); };
  if (p.trains()) return grads_.tensor(p.value.shape, DType::f32, bytes(p.offset));
  if (p.spec.matrix) return {};
  return unread_grads_.tensor(p.value.shape, DType::f32, bytes(p.offset - numel() - frozen_matrix_numel_));
}

void ParamStore::name_packed() {
  size_t at = 0;
  const auto take = [&](Tensor& t) {
    if (t.empty()) return;
    t = packed_.tensor(t.shape, compute_, at);
    at += t.bytes();
  };
  for (Param& p : params_) {
    if (p.weight.matrix.empty()) continue;
    p.weight.matrix = p.compute.with_shape(p.weight.matrix.shape);
    take(p.weight.packed_forward);
    take(p.weight.packed_backward);
  }
}

int64_t ParamStore::inference_numel() const {
  int64_t n = 0;
  for (const Param& p : params_) n += inference_numel_of(p);
  return n;
}

int64_t ParamStore::inference_numel_of(const Param& p) const {
  const Tensor& w = p.weight.matrix;
  return w.empty() ? 0 : ops::inference_numel(device_, copy_type(), w.cols(), w.rows());
}

size_t ParamStore::inference_bytes() const { return static_cast<size_t>(inference_numel()) * size_of(copy_type()); }

void ParamStore::reserve_inference_copies() { inference_ = buffer_of(inference_bytes()); }

void ParamStore::add_inference_copies() {
  if (inference_.bytes() < inference_bytes()) reserve_inference_copies();
  int64_t at = 0;
  for (Param& p : params_) {
    const int64_t n = inference_numel_of(p);
    if (n > 0) p.weight.inference = inference_.tensor({n}, copy_type(), static_cast<size_t>(at) * size_of(copy_type()));
    at += n;
  }
}

void ParamStore::remove_inference_copies() {
  for (Param& p : params_) p.weight.inference = Tensor();
}

ParamBytes ParamStore::bytes() const {
  return {.values = values_.footprint(),
          .gradients = grads_.footprint() + unread_grads_.footprint(),
          .frozen = frozen_.footprint(),
          .rounded = rounded_.footprint(),
          .packed = packed_.footprint() + inference_.footprint()};
}

void ParamStore::initialize(Context& ctx, uint64_t seed) {
  for (const Param& p : params_) {
    const SliceView view = view_of(p);
    ops::init(ctx, {.x = p.value.with_shape({p.numel()}),
                    .outer = view.outer,
                    .dim = view.dim,
                    .inner = view.inner,
                    .begin = view.begin,
                    .global_dim = view.global_dim,
                    .kind = p.spec.init.kind,
                    .value = p.spec.init.value,
                    .seed = seed,
                    .purpose = purpose_of(p.spec.name)});
  }
  round_values(ctx);
}

void ParamStore::round_values(Context& ctx) const {
  if (use_ == ParamUse::int8_inference) round_to_int8();
  round_values(ctx, value_buffer());
}

void ParamStore::round_to_int8() const {
  for (const Param& p : params_) {
    if (!p.spec.matrix) continue;
    const int64_t cols = int8_row(p);
    round_rows_to_int8(p.value.ptr<float>(), p.numel() / cols, cols);
  }
}

int64_t int8_row(const Param& p) {
  const Tensor& w = p.weight.matrix;  // empty if the parameter is only looked up
  return w.empty() ? p.spec.shape[p.spec.shape.rank() - 1] : w.cols();
}

void ParamStore::round_values(Context& ctx, const ParamBuffer& values) const {
  if (mixed()) {
    const int64_t first = values.matrices.numel(), rest = values.vectors.numel();
    ops::cast(ctx, {.x = values.matrices, .y = rounded().slice_rows(0, first)});
    if (rest > 0) ops::cast(ctx, {.x = values.vectors, .y = rounded().slice_rows(first, rest)});
    if (!values.frozen.empty()) cast_frozen(ctx);
  }
  refresh(ctx);
}

void ParamStore::cast_frozen(Context& ctx) const {
  const Tensor copies = rounded_.tensor({numel() + frozen_numel()}, compute_);
  ops::cast(ctx, {.x = frozen_values(), .y = copies.slice_rows(numel(), frozen_numel())});
}

void ParamStore::round_frozen(Context& ctx) const {
  if (mixed()) cast_frozen(ctx);
  refresh(ctx);
}

void ParamStore::pack(Context& ctx, const Param& p) {
  if (!p.weight.packed_forward.empty() || !p.weight.inference.empty()) ops::pack_weight(ctx, {.weight = p.weight});
}

void ParamStore::refresh(Context& ctx) const {
  for (const Param& p : params_) pack(ctx, p);
}

void ParamStore::refresh(Context& ctx, const ParamRange& written) const {
  for (size_t i = written.first_param; i < written.last_param; ++i)
    if (params_[i].trains()) pack(ctx, params_[i]);
}

const Param* ParamStore::find(const std::string& name) const {
  const auto it = std::find_if(params_.begin(), params_.end(), [&](const Param& p) { return p.spec.name == name; });
  return it == params_.end() ? nullptr : &*it;
}

int64_t ParamStore::global_numel() const {
  int64_t n = 0;
  for (const Param& p : params_) n += p.spec.shape.numel();
  return n;
}

int64_t ParamStore::trainable_numel() const {
  int64_t n = 0;
  for (const Param& p : params_) n += p.trains() ? p.spec.shape.numel() : 0;
  return n;
}

double ParamStore::trained_share() const {
  int64_t trained = 0, all = 0;
  for (const Param& p : params_) {
    if (p.weight.matrix.empty()) continue;
    all += p.numel();
    trained += p.trains() ? p.numel() : 0;
  }
  return all == 0 ? 1 : static_cast<double>(trained) / static_cast<double>(all);
}

void slice_from_global(const Param& p, const float* global, float* local) {
  const SliceView view = view_of(p);
  const int64_t valid = view.valid() * view.inner, padded = view.dim * view.inner;
  for (int64_t o = 0; o < view.outer; ++o, local += padded) {
    std::copy_n(global + view.position(o), valid, local);
    std::fill(local + valid, local + padded, 0.0f);
  }
}

void slice_to_global(const ParamSpec& spec, int tp_rank, int tp_size, const float* local, float* global) {
  const int64_t dim = local_dim(spec, tp_size);
  const SliceView view = view_of(spec, tp_rank * dim, dim);
  for (int64_t o = 0; o < view.outer; ++o, local += view.dim * view.inner) {
    std::copy_n(local, view.valid() * view.inner, global + view.position(o));
  }
}

}  // namespace weft
