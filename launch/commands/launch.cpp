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
#include "launch/start/host_probe.h"
#include "launch/start/hosts.h"
#include "launch/start/program_build.h"
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
  std::vector<HostAnswer> ask(Supervisor& supervisor, double seconds) const {
    return ask_hosts(supervisor, {launcher.program, command.words[0], program_build()}, command.hosts, seconds);
  }
};

constexpr double kPatience = 60, kHaste = 10;  // seconds in which hosts must answer; in haste, the run waits for them

// Fails unless all hosts can run the program.
void require_hosts(const std::vector<Host>& hosts, const std::vector<HostAnswer>& answers) {
  require_program_on_hosts(hosts, answers);
  if (const std::string gone = describe_problems(hosts, answers); !gone.empty())
    fail(ErrorKind::peer, fmt::format("no answer from {}", gone));
}

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
    const Start start = start_.command.hosts.empty() ? start_ : on_hosts_that_answer();
    if (supervisor_.stopped()) return 128 + SIGUSR2;
    has_started_ = true;
    return supervisor_.run_training(start.line(), configuration_is_new(config_.train.output),
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

  // Keeps tp and reduces dp, because the results do not depend on dp except for rounding.
  Start on_hosts_that_answer() {
    Start start = start_;
    RankCommand& c = start.command;
    const std::vector<Host> hosts = std::move(c.hosts);
    const std::vector<HostAnswer> answers = start_.ask(supervisor_, restarts_ > 0 ? kHaste : kPatience);
    if (supervisor_.stopped()) return start_;
    if (restarts_ == 0) require_hosts(hosts, answers);
    if (!has_started_)
      require_program_on_hosts(hosts, answers);  // later, a host that has just booted may lack a folder
    const std::string gone = describe_problems(hosts, answers);
    if (gone.empty()) return start_;
    c.hosts.clear();
    for (size_t i = 0; i < hosts.size(); ++i)
      if (answers[i].problem.empty()) c.hosts.push_back(hosts[i]);
    if (c.hosts.empty()) fail(ErrorKind::peer, fmt::format("none of the hosts in --hosts answers: {}", gone));
    c.ranks = ranks_that_fit(c.ranks, num_slots(c.hosts), config_.parallel.tp);
    say(fmt::format("no answer from {}: starting {} of {} ranks on {}", gone, c.ranks, start_.command.ranks,
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
  bool has_started_ = false;
  RestartPolicy policy_;
  Supervisor supervisor_;
};

// For a command other than train.
int run_once(const Start& start) {
  Supervisor supervisor;
  if (const std::vector<Host>& hosts = start.command.hosts; !hosts.empty()) {
    const std::vector<HostAnswer> answers = start.ask(supervisor, kPatience);
    if (supervisor.stopped()) return 128 + supervisor.relay().stop_signal();
    require_hosts(hosts, answers);
  }
  return supervisor.run_other(start.line());
}

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
  if (o.command != "train") return run_once(start);
  RunConfig config;
  bool only_plan = false;
  read_run_config(o.args, config, only_plan);  // reports wrong options in one line, without mpirun's messages
  if (o.restarts > 0 && config.train.fresh)
    fail(ErrorKind::usage, "--restarts with train.fresh = true would start over each time: leave out one of them");
  return TrainingLaunch(start, std::move(config), o.restarts).run();
}

}  // namespace weft
