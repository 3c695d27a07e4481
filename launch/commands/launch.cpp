// launch/commands/launch.cpp: `weft launch` starts the ranks of a command, and restarts training after failures.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/launch_options.h"
#include "launch/options/run_options.h"
#include "launch/start/hosts.h"
#include "launch/start/rank_command.h"
#include "launch/start/restart_policy.h"
#include "launch/start/supervisor.h"
#include "tensor/clock.h"
#include "tensor/error.h"
#include "trainer/plan/stop_notice.h"

namespace weft {
namespace {

void say(const std::string& text) { std::fputs(fmt::format("weft launch: {}\n", text).c_str(), stderr); }

std::string this_program() {
  std::error_code failed;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) fail(ErrorKind::io, "/proc/self/exe cannot be read: mount /proc");
  return path;
}

struct Start {  // a command and the program that starts its ranks
  Launcher launcher;
  RankCommand command;

  std::vector<std::string> line() const {
    return launcher.slurm ? srun_command(launcher.program, command) : mpirun_command(launcher.program, command);
  }
};

constexpr int64_t kMaxRanksPerProcessor = 64;  // far more than is useful, so a higher number is a typing error

Start plan_start(const LaunchOptions& o) {
  const std::string weft = this_program();
  Start start{.launcher = find_launcher(o.mpirun, weft), .command = {.ranks = o.ranks, .hosts = parse_hosts(o.hosts)}};
  RankCommand& c = start.command;
  if (start.launcher.slurm && !c.hosts.empty())
    fail(ErrorKind::usage,
         "--hosts has no effect with srun, because Slurm has chosen the hosts: leave it out, or use --mpirun=mpirun");
  const int slots = num_slots(c.hosts);
  if (c.ranks == 0) c.ranks = slots;
  if (c.ranks == 0 && !start.launcher.slurm) fail(ErrorKind::usage, "the number of ranks is missing: give -n N");
  if (slots > 0 && c.ranks > slots)
    fail(ErrorKind::usage, fmt::format("-n {} is more than the {} slots of --hosts: give more slots", c.ranks, slots));
  const int64_t most = kMaxRanksPerProcessor * std::max(1u, std::thread::hardware_concurrency());
  if (c.hosts.empty() && !start.launcher.slurm && c.ranks > most)
    fail(ErrorKind::usage, fmt::format("-n {}: this host has {} processors and can run at most {} ranks; add --hosts",
                                       c.ranks, most / kMaxRanksPerProcessor, most));
  require_no_folder_as_input();  // mpirun would treat a folder as empty input
  c.words = {weft, o.command};
  c.words.insert(c.words.end(), o.args.begin(), o.args.end());
  return start;
}

// Returns a function that returns true once the ranks have replaced the run's configuration, and thus handle signals.
std::function<bool()> configuration_is_new(const std::string& run_folder) {
  const auto written = [file = run_folder + "/config.cfg"] {
    std::error_code none;
    const auto time = std::filesystem::last_write_time(file, none);
    return none ? std::filesystem::file_time_type::min() : time;
  };
  return [written, before = written()] { return written() != before; };
}

std::vector<std::string> without_option(const std::vector<std::string>& args, const std::string& name) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--" + name) {
      ++i;  // its value
    } else if (!args[i].starts_with("--" + name + "=")) {
      kept.push_back(args[i]);
    }
  }
  return kept;
}

class TrainingLaunch {
 public:
  TrainingLaunch(Start start, RunConfig config, int restarts)
      : start_(std::move(start)), config_(std::move(config)), restarts_(restarts), policy_(restarts) {}

  int run() {
    for (;;) {
      const std::optional<int> ended = restarts_ > 0 ? attempt_if_hosts_answer() : attempt();
      const int status = ended.value_or(static_cast<int>(ErrorKind::peer));
      if (supervisor_.stopped()) return supervisor_.relay().status(status);
      const RestartPolicy::Decision next =
          ended ? policy_.after(status, progress_of(config_.train.output)) : policy_.after_no_start();
      if (!next.reason.empty()) say(next.reason);
      if (!next.again) return status;
      supervisor_.pause(next.pause);
      wait_for_earlier_ranks();
      if (supervisor_.stopped()) return 128 + supervisor_.relay().stop_signal();
    }
  }

 private:
  int attempt() {
    const bool checks_hosts = restarts_ > 0 && !start_.command.hosts.empty();
    const Start start = checks_hosts ? on_hosts_that_answer() : start_;
    return supervisor_.stopped() ? 128 + SIGUSR2
                                 : supervisor_.run_training(start.line(), configuration_is_new(config_.train.output),
                                                            RankWatch(config_.parallel.timeout));
  }

  std::optional<int> attempt_if_hosts_answer() {  // none: no ranks were started
    try {
      return attempt();
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::peer) throw;
      say(e.what());
      return std::nullopt;
    }
  }

  // Returns the hosts where mpirun can start a program, and appends the names of other hosts to `gone`. Asks a host
  // again if mpirun failed, because a busy host may fail once, but a missing host stays out until the next start.
  std::vector<Host> hosts_that_answer(std::string& gone) {
    constexpr double kSeconds = 10;  // for both attempts
    const std::vector<Host>& hosts = start_.command.hosts;
    std::vector<bool> answered(hosts.size(), false);
    const double end = monotonic_seconds() + kSeconds;
    for (int attempt = 0; attempt < 2 && !supervisor_.stopped(); ++attempt)
      ask(hosts, answered, end - monotonic_seconds());
    std::vector<Host> left;
    for (size_t i = 0; i < hosts.size(); ++i)
      if (answered[i]) {
        left.push_back(hosts[i]);
      } else {
        gone += " " + hosts[i].name;
      }
    return left;
  }

  // Asks the hosts that have not answered.
  void ask(const std::vector<Host>& hosts, std::vector<bool>& answered, double seconds) {
    std::vector<size_t> asked;
    std::vector<std::vector<std::string>> lines;
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (answered[i]) continue;
      asked.push_back(i);
      lines.push_back(mpirun_command(start_.launcher.program, {.ranks = 1, .hosts = {hosts[i]}, .words = {"true"}}));
    }
    const std::vector<bool> succeeded = supervisor_.succeed(lines, seconds);
    for (size_t i = 0; i < asked.size(); ++i) answered[asked[i]] = succeeded[i];
  }

  // Keeps tp and reduces dp, because the results do not depend on dp except for rounding.
  Start on_hosts_that_answer() {
    Start start = start_;
    RankCommand& c = start.command;
    std::string gone;
    c.hosts = hosts_that_answer(gone);
    if (gone.empty() || supervisor_.stopped()) return start_;
    if (c.hosts.empty())
      fail(ErrorKind::peer, "none of the hosts in --hosts answers: mpirun cannot start a program on any of them");
    c.ranks = ranks_that_fit(c.ranks, num_slots(c.hosts), config_.parallel.tp);
    say(fmt::format("no answer from{}: starting {} of {} ranks on {}", gone, c.ranks, start_.command.ranks,
                    hosts_text(c.hosts)));
    if (c.ranks < start_.command.ranks) {
      c.words = without_option(c.words, "parallel.dp");
      c.words.push_back("--parallel.dp=0");  // 0: number of ranks / tp
    }
    return start;
  }

  // Ranks of the failed start may still be exiting on other hosts, and they hold the lock of the run's folder.
  void wait_for_earlier_ranks() {
    constexpr int kMaxSeconds = 600;
    const FileDescriptor lock(open((config_.train.output + "/.lock").c_str(), O_RDWR | O_CLOEXEC));
    const auto is_held = [&] { return lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; };
    if (!supervisor_.stopped() && is_held())
      say("waiting for ranks of the failed start, which still lock the run's folder");
    for (int i = 0; i < kMaxSeconds && !supervisor_.stopped() && is_held(); ++i) supervisor_.pause(1);
  }

  Start start_;
  RunConfig config_;
  int restarts_;
  RestartPolicy policy_;
  Supervisor supervisor_;
};

}  // namespace

int run_launch(const CommandContext& context) {
  LaunchOptions o;
  if (!parse_launch_options(context.args, o)) return 0;
  const Command& command = find_command(o.command);
  if (asked_help(o.args)) return command.run({.args = o.args});
  if (!command.distributed)
    fail(ErrorKind::usage, fmt::format("`weft {}` runs in one process: start it without `weft launch`", o.command));
  const Start start = plan_start(o);
  if (o.dry_run) {
    fmt::print("{}\n", shell_quoted(start.line()));
    return 0;
  }
  setenv(kLaunchVariable, "1", /*overwrite=*/1);
  if (o.command != "train") return Supervisor().run_other(start.line());
  RunConfig config;
  bool only_plan = false;
  read_run_config(o.args, config, only_plan);  // reports wrong options in one line, without mpirun's messages
  if (o.restarts > 0 && config.train.fresh)
    fail(ErrorKind::usage, "--restarts with train.fresh = true would start over each time: leave out one of them");
  return TrainingLaunch(start, std::move(config), o.restarts).run();
}

}  // namespace weft
