// parallel/nccl/communicator.cpp: implements a Communicator that sends device tensors over NCCL, and host tensors over
// another communicator of the same ranks. It also contains the module's entry point.
#include <exception>
#include <memory>
#include <utility>

#include "parallel/collective.h"
#include "parallel/nccl/module.h"
#include "parallel/nccl/stream.h"
#include "tensor/error.h"

namespace weft::nccl {
namespace {

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    case DType::i32:
      return ncclInt32;
    case DType::i8:
      break;
  }
  fail(ErrorKind::internal, "packed weights are not communicated");
}

void check_tensor(const Tensor& x, Device device) {
  require(x.device == device, ErrorKind::internal, "the tensor of a collective is on a different device");
  require(x.contiguous(), ErrorKind::internal, "a collective needs a contiguous tensor, not a column slice");
}

void check_parts(const Tensor& part, const Tensor& whole, int num_parts) {
  check_tensor(part, Device::cuda);
  check_tensor(whole, Device::cuda);
  if (part.dtype == whole.dtype && whole.numel() == num_parts * part.numel()) return;
  fail(ErrorKind::internal, fmt::format("{} parts of shape {} ({}) do not make {} ({})", num_parts, part.shape.str(),
                                        name_of(part.dtype), whole.shape.str(), name_of(whole.dtype)));
}

// If any rank has an error, throws on all ranks. A cause takes precedence over the errors that follow on other ranks.
void agree_on_connection(Communicator& host, const std::exception_ptr& error, bool is_cause) {
  agree(host, is_cause ? error : nullptr);
  agree(host, error);
}

// Connects all ranks before the first collective. If a rank has not arrived, this rank throws without agreement,
// because agreement would wait for the missing rank.
ncclComm_t connect(CommunicationStream& stream, Communicator& host) {
  ncclUniqueId id{};
  all_or_none(host, [&] {
    if (host.is_main_rank()) check(ncclGetUniqueId(&id));
  });
  constexpr int64_t kWords = sizeof id / sizeof(int32_t);
  host.broadcast(Tensor(&id, {kWords}, DType::i32), 0);
  ncclComm_t comm = nullptr;
  std::exception_ptr error;
  bool is_cause = false;
  try {
    comm = stream.connect(id, host.size(), host.rank());
  } catch (const Overdue&) {
    stream.fail_overdue(fmt::format("connecting {} ranks over NCCL, as rank {}", host.size(), host.rank()));
    stream.check();
  } catch (const Error& e) {
    error = std::current_exception();
    is_cause = e.kind() != ErrorKind::peer;
    stream.fail(e.kind(), e.what());  // aborts, so the other ranks' connections also fail
  }
  try {
    agree_on_connection(host, error, is_cause);
  } catch (const Error& e) {
    stream.fail(e.kind(), e.what());
    throw;
  }
  return comm;
}

auto reduction(const Tensor& x, ncclRedOp_t op, ncclComm_t comm) {
  return [x, op, comm, type = nccl_type(x.dtype)](cudaStream_t stream) {
    return ncclAllReduce(x.data, x.data, static_cast<size_t>(x.numel()), type, op, comm, stream);
  };
}

auto gathering(const Tensor& x, const Tensor& y, ncclComm_t comm) {
  return [x, y, comm](cudaStream_t stream) {
    return ncclAllGather(x.data, y.data, static_cast<size_t>(x.numel()), nccl_type(x.dtype), comm, stream);
  };
}

auto scattering(const Tensor& x, const Tensor& y, ncclComm_t comm) {
  return [x, y, comm](cudaStream_t stream) {
    const auto count = static_cast<size_t>(y.numel());
    return ncclReduceScatter(x.data, y.data, count, nccl_type(x.dtype), ncclSum, comm, stream);
  };
}

// Sends and receives in one group, because NCCL has an all-to-all only since 2.28.
auto exchange(const Tensor& x, const Tensor& y, int size, ncclComm_t comm) {
  return [x, y, size, comm](cudaStream_t stream) {
    const auto count = static_cast<size_t>(x.numel() / size);
    const size_t bytes = count * size_of(x.dtype);
    ncclResult_t result = ncclGroupStart();
    for (int peer = 0; peer < size && nccl::is_accepted(result); ++peer) {
      const size_t at = static_cast<size_t>(peer) * bytes;
      result = ncclSend(static_cast<const std::byte*>(x.data) + at, count, nccl_type(x.dtype), peer, comm, stream);
      if (nccl::is_accepted(result))
        result = ncclRecv(static_cast<std::byte*>(y.data) + at, count, nccl_type(y.dtype), peer, comm, stream);
    }
    const ncclResult_t ended = ncclGroupEnd();
    return nccl::is_accepted(result) ? ended : result;
  };
}

auto gathering_v(const std::vector<Tensor>& parts, ncclComm_t comm) {
  return [&parts, comm](cudaStream_t stream) {
    ncclResult_t result = ncclGroupStart();
    for (size_t r = 0; r < parts.size() && nccl::is_accepted(result); ++r) {
      const Tensor& x = parts[r];
      if (x.numel() == 0) continue;
      result = ncclBroadcast(x.data, x.data, static_cast<size_t>(x.numel()), nccl_type(x.dtype), static_cast<int>(r),
                             comm, stream);
    }
    const ncclResult_t ended = ncclGroupEnd();
    return nccl::is_accepted(result) ? ended : result;
  };
}

class DoneWork final : public PendingWork {
 public:
  void poll() override {}
  void wait() override {}
};

class NcclWork final : public PendingWork {
 public:
  explicit NcclWork(std::shared_ptr<CommunicationStream> stream) : stream_(std::move(stream)) {
    done_ = stream_->take_event();
  }
  ~NcclWork() override { stream_->give_back(std::move(done_)); }
  Event& done() { return *done_; }
  void poll() override {}  // the device makes progress by itself
  void wait() override {
    stream_->check();
    stream_->join(*done_);
  }

 private:
  std::shared_ptr<CommunicationStream> stream_;
  std::unique_ptr<Event> done_;
};

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::shared_ptr<CommunicationStream> stream, Communicator& host)
      : stream_(std::move(stream)), host_(host) {
    if (size() > 1) comm_ = connect(*stream_, host_);
  }
  NcclCommunicator(std::shared_ptr<CommunicationStream> stream, std::unique_ptr<Communicator> host)
      : NcclCommunicator(std::move(stream), *host) {
    owned_host_ = std::move(host);
  }
  ~NcclCommunicator() override {
    if (comm_ == nullptr) return;
    if (std::uncaught_exceptions() > 0) stream_->fail(ErrorKind::peer, "another error ended this rank's collectives");
    stream_->disconnect(comm_, fmt::format("rank {} of a group of {}", rank(), size()));
  }

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }

  void all_reduce(const Tensor& x, ReduceOp op) override {
    stream_->check();
    if (x.device == Device::cpu) return host_.all_reduce(x, op);
    check_tensor(x, Device::cuda);
    const ncclRedOp_t nccl_op = op == ReduceOp::sum ? ncclSum : ncclMax;
    if (travels(x)) run("all_reduce", x.bytes(), reduction(x, nccl_op, comm_));
  }

  std::unique_ptr<PendingWork> start_all_reduce(const Tensor& x) override {
    stream_->check();
    if (x.device == Device::cpu) return host_.start_all_reduce(x);
    check_tensor(x, Device::cuda);
    if (!travels(x)) return std::make_unique<DoneWork>();
    return start("start_all_reduce", x, reduction(x, ncclSum, comm_));
  }

  void all_gather(const Tensor& x, const Tensor& y) override {
    stream_->check();
    if (x.device == Device::cpu) return host_.all_gather(x, y);
    check_parts(x, y, size());
    if (!travels(x)) return copy(x, y);
    run("all_gather", x.bytes(), gathering(x, y, comm_));
  }

  std::unique_ptr<PendingWork> start_all_gather(const Tensor& x, const Tensor& y) override {
    stream_->check();
    if (x.device == Device::cpu) return host_.start_all_gather(x, y);
    check_parts(x, y, size());
    return travels(x) ? start("start_all_gather", x, gathering(x, y, comm_)) : copied(x, y);
  }

  std::unique_ptr<PendingWork> start_reduce_scatter(const Tensor& x, const Tensor& y) override {
    stream_->check();
    if (x.device == Device::cpu) return host_.start_reduce_scatter(x, y);
    check_parts(y, x, size());
    return travels(y) ? start("start_reduce_scatter", x, scattering(x, y, comm_)) : copied(x, y);
  }

  void reduce_scatter(const Tensor& x, const Tensor& y) override {
    stream_->check();
    if (x.device == Device::cpu) return host_.reduce_scatter(x, y);
    check_parts(y, x, size());
    if (!travels(y)) return copy(x, y);
    run("reduce_scatter", x.bytes(), scattering(x, y, comm_));
  }

  std::unique_ptr<PendingWork> start_all_to_all(const Tensor& x, const Tensor& y) override {
    stream_->check();
    if (x.device == Device::cpu) return host_.start_all_to_all(x, y);
    check_parts(x, y, 1);
    require(x.numel() % size() == 0, ErrorKind::internal,
            "the tensor of an all-to-all must divide evenly among the ranks");
    return travels(x) ? start("start_all_to_all", x, exchange(x, y, size(), comm_)) : copied(x, y);
  }

  void broadcast(const Tensor& x, int root) override {
    stream_->check();
    if (x.device == Device::cpu) return host_.broadcast(x, root);
    check_tensor(x, Device::cuda);
    if (!travels(x)) return;
    run("broadcast", x.bytes(), [&, type = nccl_type(x.dtype)](cudaStream_t stream) {
      return ncclBroadcast(x.data, x.data, static_cast<size_t>(x.numel()), type, root, comm_, stream);
    });
  }

  // Uses one kernel for all parts, so that they are sent at the same time.
  void all_gather_v(const std::vector<Tensor>& parts) override {
    stream_->check();
    require(std::ssize(parts) == size(), ErrorKind::internal, "all_gather_v needs one part per rank");
    if (parts.front().device == Device::cpu) return host_.all_gather_v(parts);
    for (const Tensor& part : parts) check_tensor(part, Device::cuda);
    if (comm_ == nullptr) return;
    run("all_gather_v", bytes_of(parts), gathering_v(parts, comm_));
  }

  void barrier() override {
    stream_->check();
    host_.barrier();
  }

  std::unique_ptr<Communicator> split(int color, int key) override {
    stream_->check();
    return std::make_unique<NcclCommunicator>(stream_, host_.split(color, key));
  }

  std::unique_ptr<Communicator> split_by_host() override {
    stream_->check();
    return std::make_unique<NcclCommunicator>(stream_, host_.split_by_host());
  }

  void set_step(int64_t step) override { stream_->set_step(step); }

 private:
  bool travels(const Tensor& x) const { return x.numel() > 0 && comm_ != nullptr; }

  CollectiveCall collective(const char* name, size_t bytes) const {
    return {.name = name, .bytes = static_cast<int64_t>(bytes), .rank = rank(), .size = size()};
  }

  template <typename Enqueue>
  std::unique_ptr<PendingWork> start(const char* name, const Tensor& x, const Enqueue& enqueue) {
    auto work = std::make_unique<NcclWork>(stream_);
    stream_->run(collective(name, x.bytes()), comm_, enqueue, work->done());
    return work;
  }

  template <typename Enqueue>
  void run(const char* name, size_t bytes, const Enqueue& enqueue) {
    stream_->run(collective(name, bytes), comm_, enqueue, done_);
    stream_->join(done_);
  }

  void copy(const Tensor& from, const Tensor& to) const {  // a group of one
    if (from.numel() == 0 || from.data == to.data) return;
    check(cudaMemcpyAsync(to.data, from.data, from.bytes(), cudaMemcpyDeviceToDevice, stream_->computation()),
          "cudaMemcpyAsync");
  }

  std::unique_ptr<PendingWork> copied(const Tensor& from, const Tensor& to) const {
    copy(from, to);
    return std::make_unique<DoneWork>();
  }

  std::shared_ptr<CommunicationStream> stream_;
  std::unique_ptr<Communicator> owned_host_;  // for a group made by split()
  Communicator& host_;
  ncclComm_t comm_ = nullptr;  // null in a group of one
  Event done_;
};

int version() {
  int version = 0;
  check(ncclGetVersion(&version));
  return version;
}

std::unique_ptr<Communicator> make_communicator(Context& ctx, Communicator& host, NcclLimits limits) {
  return std::make_unique<NcclCommunicator>(CommunicationStream::of(ctx, limits), host);
}

constexpr Module kModule{.version = version, .make_communicator = make_communicator};

}  // namespace
}  // namespace weft::nccl

extern "C" __attribute__((visibility("default"))) const weft::nccl::Module* weft_nccl_module(int version) {
  return version == weft::nccl::kModuleVersion ? &weft::nccl::kModule : nullptr;
}
