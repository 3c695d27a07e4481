// tests/parallel/nccl_check.cpp: the shared communicator cases over NCCL under mpirun. Prints a line for
// each; exit status 0 if all pass. Runs on a GPU, or on the emulated device if the environment selects it.
//
// One argument: "share": all ranks use the first GPU. "leave": the last rank fails while the others wait for
// their device. "deaf": the others never connect, and rank 0 does not poll its device: its process must be
// ended. "versions": only connects. "replay": a graph's collective does not end (WEFT_EMULATED_NCCL_FAULT),
// and every rank prints its error. "outlived": the graph would be destroyed last, but the communicator waits
// for it: the processes must be ended.
#include <cstdio>
#include <exception>
#include <future>
#include <string>

#include "parallel/mpi/session.h"
#include "parallel/nccl.h"
#include "tensor/recorded_work.h"
#include "tests/parallel/communicator_cases.h"
#include "tests/parallel/on_device.h"

namespace weft {
namespace {

using std::chrono::milliseconds;

void run_cases(Context& ctx, Communicator& world) {
  testing::sums_in_rank_order = false;
  testing::OnDevice on_device(ctx, world);
  for (const testing::CommunicatorCase& one : testing::nccl_cases()) {
    try {
      one.run(on_device);
    } catch (const std::exception& e) {
      throw std::runtime_error(fmt::format("{}: {}", one.name, e.what()));
    }
    world.barrier();
    if (world.rank() == 0) fmt::print("ok  {}  {} ranks\n", one.name, world.size());
  }
}

void reduce_and_wait(Context& ctx, Communicator& world, bool waits) {
  const Buffer x(4 * sizeof(float), ctx.device());
  world.set_step(7);
  world.all_reduce(x.tensor({4}));
  if (waits) ctx.synchronize();
}

void wait_for_ever() { std::promise<void>().get_future().wait(); }

std::string heard_of_a_replay(Communicator& host, bool is_outlived) {
  try {
    RecordedWork outliving;
    Context ctx(Device::cuda);
    const NcclLimits limits{.collective = std::chrono::seconds(2),
                            .notice = is_outlived ? milliseconds(100) : std::chrono::seconds(20)};
    const auto world = make_nccl_communicator(ctx, host, limits);
    RecordedWork usual;
    const Buffer x(4 * sizeof(float), ctx.device());
    for (int64_t step = 1; step <= 7; ++step) {
      world->set_step(step);
      RecordedWork& work = is_outlived ? outliving : usual;
      const auto sum = [&] { world->all_reduce(x.tensor({4})); };
      if (step == 2)
        work.record(ctx, sum);
      else
        work.run(ctx, sum);
      ctx.synchronize();
    }
    return "nothing";
  } catch (const Error& e) {
    return e.what();
  }
}

void check(const MpiSession& session, Communicator& host, const std::string& what) {
  const int count = num_devices(Device::cuda);
  if (what == "share") share_one_gpu();
  use_device(Device::cuda, what == "share" ? 0 : session.rank() % count);
  if (what == "replay" || what == "outlived") {
    const auto all = host.all_gather_strings(heard_of_a_replay(host, what == "outlived"));
    for (const std::string& heard : all)
      if (host.rank() == 0) fmt::print("heard: {}\n", heard);
    return;
  }
  Context ctx(Device::cuda);
  const NcclLimits usual{.collective = std::chrono::seconds(40)};
  const NcclLimits deaf{.collective = milliseconds(200), .notice = milliseconds(100)};
  const auto world = make_nccl_communicator(ctx, host, what == "deaf" ? deaf : usual);
  const bool is_last = world->rank() == world->size() - 1;
  if (what == "leave") {
    if (is_last) fail(ErrorKind::data, "this rank gives up");
    reduce_and_wait(ctx, *world, true);
  } else if (what == "deaf") {
    if (world->rank() == 0) reduce_and_wait(ctx, *world, false);
    wait_for_ever();
  } else if (what != "versions") {
    run_cases(ctx, *world);
  }
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::MpiSession session;
  try {
    const auto host = session.world();
    weft::check(session, *host, argc > 1 ? argv[1] : "");
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "FAILED  rank {}: {}\n", session.rank(), e.what());
    std::fflush(stderr);
    session.abort(1);
  }
}
