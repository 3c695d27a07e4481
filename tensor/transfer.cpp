// tensor/transfer.cpp: checks the tensors that are copied between host and device.
#include "tensor/transfer.h"

#include "tensor/error.h"

namespace weft {
namespace {

void check(const Context& ctx, const Tensor& t, const char* what) {
  if (t.device == ctx.device() && t.contiguous() && (t.data != nullptr || t.numel() == 0)) return;
  fail(ErrorKind::internal,
       fmt::format("{}: a {} tensor {} has no memory, is a column slice or is on a different device", what,
                   name_of(t.dtype), t.shape.str()));
}

}  // namespace

void upload(Context& ctx, const void* host, const Tensor& to) {
  if (ctx.dry_run() || to.numel() == 0) return;
  check(ctx, to, "upload");
  ctx.runtime().upload(host, to.data, to.bytes());
}

void download(Context& ctx, const Tensor& from, void* host) {
  if (from.numel() == 0) return;
  check(ctx, from, "download");
  ctx.runtime().download(from.data, host, from.bytes());
  ctx.after_wait();
}

void copy(Context& ctx, const Tensor& from, const Tensor& to) {
  if (ctx.dry_run() || from.numel() == 0) return;
  check(ctx, from, "copy");
  check(ctx, to, "copy");
  require(from.bytes() == to.bytes(), ErrorKind::internal, "copy: the tensors have different sizes");
  ctx.runtime().copy(from.data, to.data, from.bytes());
}

const float* on_host(Context& ctx, const Tensor& t, std::vector<float>& copy) {
  if (t.device == Device::cpu) return t.ptr<float>();
  copy = to_host<float>(ctx, t);
  return copy.data();
}

}  // namespace weft
