// launch/start/rank_command.cpp: finds the launcher, and sets its options.
#include "launch/start/rank_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <sstream>
#include <string_view>

#include "tensor/error.h"

namespace weft {
namespace {

bool can_run(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none) && access(path.c_str(), X_OK) == 0;
}

std::string on_path(const std::string& name) {  // empty if no folder of PATH contains the program
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name); can_run(file)) return file;
  return "";
}

// Returns the variables to pass with mpirun -x, because mpirun itself passes only its own variables to other hosts.
std::vector<std::string> variables_to_export() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const auto begins = [&](const char* prefix) { return text.starts_with(prefix); };
    const std::initializer_list<const char*> prefixes = {"WEFT_", "OMP_", "ONEDNN_", "NCCL_", "GLIBC_TUNABLES="};
    if (std::any_of(prefixes.begin(), prefixes.end(), begins)) names.emplace_back(text.substr(0, text.find('=')));
  }
  std::sort(names.begin(), names.end());
  return names;
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

void append_setting(std::vector<std::string>& words, const std::string& name, const std::string& value) {
  if (std::getenv(("OMPI_MCA_" + name).c_str()) == nullptr) append(words, {"--mca", name, value});  // else the user's
}

// mpirun notices after kIdle + kProbes * kInterval = 10 s that a host is off. By default it needs 8 minutes.
void notice_lost_hosts(std::vector<std::string>& words) {
  constexpr int kIdle = 4, kInterval = 2, kProbes = 3;
  append_setting(words, "oob_tcp_keepalive_time", std::to_string(kIdle));
  append_setting(words, "oob_tcp_keepalive_intvl", std::to_string(kInterval));
  append_setting(words, "oob_tcp_keepalive_probes", std::to_string(kProbes));
}

std::string working_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::current_path(error);
  if (error) fail(ErrorKind::usage, fmt::format("the working folder cannot be found: {}; use cd", error.message()));
  return folder.string();
}

}  // namespace

Launcher find_launcher(const std::string& wanted, const std::string& weft) {
  if (!wanted.empty()) {
    const std::string path = wanted.find('/') == std::string::npos ? on_path(wanted) : wanted;
    if (path.empty() || !can_run(path)) fail(ErrorKind::usage, fmt::format("--mpirun {}: no such program", wanted));
    return {.program = path};
  }
  if (std::getenv("SLURM_JOB_ID") != nullptr)
    if (const std::string srun = on_path("srun"); !srun.empty()) return {.slurm = true, .program = srun};
  const std::string beside = std::filesystem::path(weft).parent_path() / "mpirun";
  const std::string mpirun = can_run(beside) ? beside : on_path("mpirun");
  if (mpirun.empty())
    fail(ErrorKind::usage,
         "mpirun is neither next to weft nor on PATH: install Open MPI (Debian: openmpi-bin), or use --mpirun PATH");
  return {.program = mpirun};
}

std::vector<std::string> mpirun_command(const std::string& mpirun, const RankCommand& ranks) {
  std::vector<std::string> words{mpirun, "--quiet", "-n", std::to_string(ranks.ranks)};
  if (geteuid() == 0) words.emplace_back("--allow-run-as-root");  // most containers run as root
  // --map-by slot puts neighboring ranks, which form tensor-parallel groups, on the same host. By default, Open MPI
  // binds one or two ranks to one core each. parallel/placement/placement.h places ranks that are not bound.
  append(words, {"--map-by", "slot"});
  if (std::getenv("OMPI_MCA_hwloc_base_binding_policy") == nullptr) append(words, {"--bind-to", "none"});
  if (ranks.hosts.empty()) {
    words.emplace_back("--oversubscribe");  // -n N may ask for more ranks than cores
  } else {
    append(words, {"--host", hosts_text(ranks.hosts)});
    // By default, mpirun cuts names at the first dot, and starts ranks in the home folder if a host lacks this folder.
    if (std::ranges::any_of(ranks.hosts, [](const Host& host) { return host.name.find('.') != std::string::npos; }))
      append(words, {"--mca", "orte_keep_fqdn_hostnames", "1"});
    notice_lost_hosts(words);
    append(words, {"--wdir", ranks.in_this_folder ? working_folder() : "/"});
    for (const std::string& name : variables_to_export()) append(words, {"-x", name});
  }
  append(words, ranks.words);
  return words;
}

std::vector<std::string> srun_command(const std::string& srun, const RankCommand& ranks) {
  std::vector<std::string> words{srun, "--mpi=pmix", "--kill-on-bad-exit=1", "--cpu-bind=cores"};
  if (ranks.ranks > 0) words.push_back(fmt::format("--ntasks={}", ranks.ranks));
  // srun does not inherit this setting from sbatch.
  if (const char* cpus = std::getenv("SLURM_CPUS_PER_TASK")) words.push_back(fmt::format("--cpus-per-task={}", cpus));
  append(words, ranks.words);
  return words;
}

std::string shell_quoted(const std::vector<std::string>& words) {
  constexpr char kPlain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? "'\\''" : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace weft
