// parallel/nccl.cpp: finds the NCCL module, and makes the ranks agree before they connect.
#include "parallel/nccl.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "parallel/nccl/module.h"
#include "tensor/error.h"

namespace weft {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& reason) {
  fail(ErrorKind::usage, fmt::format("cannot use the NCCL module {}: {}; CMake builds this module if CUDA and NCCL are "
                                     "found (-DWEFT_NCCL=ON shows what is missing)",
                                     file, reason));
}

const nccl::Module* open_module() {
  const char* variable = std::getenv("WEFT_NCCL_MODULE");
  const bool chosen = variable != nullptr && *variable != '\0';
  const std::string file = chosen ? variable : nccl::kModuleFile;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse(file, dlerror());
  const auto entry = reinterpret_cast<nccl::ModuleEntry>(dlsym(library, nccl::kModuleEntry));
  if (entry == nullptr) refuse(file, "it is not an NCCL module of Weft");
  const nccl::Module* module = entry(nccl::kModuleVersion);
  if (module == nullptr) refuse(file, "it belongs to a different version of Weft");
  if (chosen) std::fputs(fmt::format("using the NCCL module {} (WEFT_NCCL_MODULE)\n", file).c_str(), stderr);
  return module;
}

const nccl::Module& module() {
  static const nccl::Module* const opened = open_module();  // if it throws, the next caller tries again
  return *opened;
}

std::string version_text(int version) {  // since 2.9: major * 10000 + minor * 100 + patch
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

void require_one_version(Communicator& host, int version) {
  const std::vector<std::string> versions = host.all_gather_strings(version_text(version));
  const std::vector<std::string> hosts = host.all_gather_strings(host_name());
  for (size_t r = 1; r < versions.size(); ++r) {
    if (versions[r] == versions[0]) continue;
    fail(ErrorKind::usage, fmt::format("the ranks use different versions of NCCL, {} on {} (rank 0) and {} on {} (rank "
                                       "{}): install the same version on all machines",
                                       versions[0], hosts[0], versions[r], hosts[r], r));
  }
}

}  // namespace

std::string reason_without_nccl() {
  try {
    module();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

std::unique_ptr<Communicator> make_nccl_communicator(Context& ctx, Communicator& host, NcclLimits limits) {
  require(ctx.device() == Device::cuda && !ctx.dry_run(), ErrorKind::internal,
          "NCCL needs the Context of a GPU, not of a dry run");
  const int version = all_or_none(host, [] { return module().version(); });
  all_or_none(host, [&] { require_one_version(host, version); });
  return module().make_communicator(ctx, host, limits);
}

std::vector<std::pair<std::string, std::string>> one_gpu_environment(int nccl_version, const std::string& process) {
  constexpr int kSharesGpus = 23000;  // from 2.30 on; few thread blocks per rank leave room for the other ranks
  if (nccl_version >= kSharesGpus) return {{"NCCL_MULTI_RANK_GPU_ENABLE", "1"}, {"NCCL_MAX_CTAS", "4"}};
  // In older versions each rank must look like a separate machine. The ranks communicate by sockets, and no kernel may
  // busy-wait for a kernel that cannot run at the same time.
  return {{"NCCL_HOSTID", process},     {"NCCL_NET", "Socket"},     {"NCCL_IB_DISABLE", "1"},
          {"NCCL_SOCKET_IFNAME", "lo"}, {"NCCL_ALGO", "Ring"},      {"NCCL_PROTO", "Simple"},
          {"NCCL_MAX_NCHANNELS", "1"},  {"NCCL_CUMEM_ENABLE", "0"}, {"NCCL_NVLS_ENABLE", "0"}};
}

void share_one_gpu() {
  constexpr int kKeep = 0;
  const std::string process = fmt::format("{}-{}", host_name(), getpid());
  for (const auto& [name, value] : one_gpu_environment(module().version(), process))
    setenv(name.c_str(), value.c_str(), kKeep);
}

}  // namespace weft
