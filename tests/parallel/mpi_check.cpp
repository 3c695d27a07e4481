// tests/parallel/mpi_check.cpp: the shared communicator cases under mpirun. Prints a line for each; exit
// status 0 if all pass.
//
// With the argument "fail", the last rank fails while the others wait for it: all must end, with its message.
// With "stop FOLDER" it stops, with "hang FOLDER" it only hangs: the others must name it and end. With "work FOLDER" it
// works for longer than the limit: the others must wait for it. With "replaced FOLDER" it does so while another folder
// has the name of FOLDER, which must stay as it is. With "apart FOLDER" no rank finds the
// others, nor with "folder-hangs FOLDER", where the folder blocks its users.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "communicator_cases.h"
#include "parallel/mpi/session.h"
#include "tensor/clock.h"

namespace weft {
namespace {

void run_cases(const MpiSession& session, const char* limits_name, MpiLimits limits) {
  const auto world = session.world(limits);
  for (const testing::CommunicatorCase& one : testing::kCommunicatorCases) {
    try {
      one.run(*world);
    } catch (const std::exception& e) {
      throw std::runtime_error(fmt::format("{} with {} limits: {}", one.name, limits_name, e.what()));
    }
    world->barrier();
    if (world->rank() == 0) fmt::print("ok  {}  {} ranks, {} limits\n", one.name, world->size(), limits_name);
  }
}

void count_waits(const MpiSession& session) {
  const auto world = session.world();
  const double before = world->seconds_waited();
  world->split(0, world->rank())->barrier();
  testing::expect(world->seconds_waited() > before, "waits of every group are counted");
}

void fail_beside_waiting_ranks(const MpiSession& session) {
  const auto world = session.world();
  if (world->rank() == world->size() - 1) fail(ErrorKind::data, "this rank gives up");
  world->barrier();
}

void stop_beside_waiting_ranks(const MpiSession& session, const std::string& folder) {
  const auto world = session.world();
  world->limit_waits(0.3, folder);
  world->set_step(7);
  world->barrier();
  if (world->rank() == world->size() - 1) std::raise(SIGSTOP);
  world->max(1);
}

// The last rank computes for longer than the limit while the others wait. Its reports are kLimit / 4 apart, and kLimit / 2
// without one ends the others: the difference must be more than a busy machine takes to run a thread.
void work_beside_waiting_ranks(const MpiSession& session, const std::string& folder) {
  constexpr double kLimit = 4;
  const auto world = session.world();
  world->limit_waits(kLimit, folder);
  world->barrier();
  const double begin = monotonic_seconds();
  while (world->rank() == world->size() - 1 && monotonic_seconds() - begin < 2.2 * kLimit) continue;
  world->barrier();
  if (world->rank() == 0) fmt::print("the ranks have met\n");
}

void leave_a_folder_of_the_same_name_alone(const MpiSession& session, const std::string& folder) {
  constexpr double kLimit = 4;
  const auto world = session.world();
  const bool is_main = world->rank() == 0;
  if (is_main) std::filesystem::remove_all(folder), std::filesystem::remove_all(folder + "-away");
  if (is_main) std::filesystem::create_directories(folder);
  world->barrier();
  world->limit_waits(kLimit, folder + "/waiting");
  world->barrier();
  if (is_main) std::filesystem::rename(folder, folder + "-away");
  if (is_main) std::filesystem::create_directories(folder + "/waiting");
  world->barrier();
  const auto files_in = [](const std::string& path) {
    return std::filesystem::exists(path) ? std::distance(std::filesystem::directory_iterator(path), {}) : 0;
  };
  while (!is_main && files_in(folder + "/waiting") + files_in(folder + "-away/waiting") == 0) continue;
  world->barrier();
  if (is_main) testing::expect(files_in(folder + "/waiting") == 0, "the other folder is empty");
}

void hang_beside_waiting_ranks(const MpiSession& session, const std::string& folder) {
  const auto world = session.world();
  world->limit_waits(0.3, folder);
  world->barrier();
  if (world->rank() == world->size() - 1) pause();
  world->barrier();
}

void wait_apart(const MpiSession& session, const std::string& folder, bool folder_hangs) {
  if (folder_hangs) {  // whoever opens a pipe waits for the other end
    std::filesystem::create_directories(folder);
    mkfifo(fmt::format("{}/rank-{}.txt.tmp", folder, session.rank()).c_str(), 0600);
  }
  const auto one = session.world(), other = session.world();
  one->limit_waits(0.3, folder);
  (session.rank() == 0 ? one : other)->barrier();
}

void check(const MpiSession& session, const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "fail") return fail_beside_waiting_ranks(session);
  if (args.size() == 2 && args[0] == "stop") return stop_beside_waiting_ranks(session, args[1]);
  if (args.size() == 2 && args[0] == "work") return work_beside_waiting_ranks(session, args[1]);
  if (args.size() == 2 && args[0] == "replaced") return leave_a_folder_of_the_same_name_alone(session, args[1]);
  if (args.size() == 2 && args[0] == "hang") return hang_beside_waiting_ranks(session, args[1]);
  if (args.size() == 2 && args[0] == "apart") return wait_apart(session, args[1], false);
  if (args.size() == 2 && args[0] == "folder-hangs") return wait_apart(session, args[1], true);
  count_waits(session);
  run_cases(session, "usual", {});
  run_cases(session, "tiny", {.message = 3, .small_reduce = 4});  // splits every tensor into several messages
  run_cases(session, "equal", {.message = 2048, .small_reduce = 0});
  testing::sums_in_rank_order = session.size() < 4;  // else in two levels
  run_cases(session, "two hosts'", {.message = 3, .small_reduce = 4, .ranks_of_a_host = 2});
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  weft::MpiSession session;
  try {
    weft::check(session, {argv + 1, argv + argc});
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "FAILED  rank {}: {}\n", session.rank(), e.what());
    session.abort(1);
  }
}
