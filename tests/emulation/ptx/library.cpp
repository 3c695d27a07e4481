// tests/emulation/ptx/library.cpp: finds kernels in the .ptx files of a folder.
#include "tests/emulation/ptx/library.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/emulation/runtime/kernel_names.h"

namespace weft::emulation::ptx {

Library::Library(const std::string& folder) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".ptx") continue;
    std::ifstream in(file.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    Source source = parse(text, file.path().filename());
    const Globals globals(source.variables);
    modules_.push_back(std::make_unique<Module>(Module{std::move(source), globals}));
    const Module& module = *modules_.back();
    for (const auto& [symbol, function] : module.source.functions) {
      if (!function.is_kernel) continue;
      if (!kernels_.try_emplace(readable_name(symbol), Kernel{.module = &module, .function = &function}).second)
        throw Error("two kernels have the name " + readable_name(symbol));
    }
  }
  if (kernels_.empty()) throw Error(folder + " contains no kernel in a .ptx file");
}

Library::~Library() {
  const char* const file = std::getenv("WEFT_EMULATION_PTX_COUNTS");
  if (file == nullptr) return;
  std::ofstream out(file);
  out << "kernel\tlaunches\tblocks\twarp instructions\tlane instructions\tdivergent branches\tissued\tload chains";
  for (const char* share : {"loads", "stores", "loads at once", "stores at once", "shared"})
    out << '\t' << share << "\tneeded";
  out << '\n';
  for (const auto& [name, executed] : counts()) {
    const Counts& c = executed.counts;
    out << name << '\t' << executed.launches << '\t' << c.blocks << '\t' << c.warp_instructions << '\t'
        << c.lane_instructions << '\t' << c.divergent_branches << '\t' << c.issued << '\t' << c.load_chains;
    for (const Counts::Share& share : {c.loads, c.stores, c.loads_at_once, c.stores_at_once, c.shared})
      out << '\t' << share.moved << '\t' << share.needed;
    out << '\n';
  }
}

std::map<std::string, Library::KernelCounts> Library::counts() {
  const std::scoped_lock lock(mutex_);
  std::map<std::string, KernelCounts> all;
  for (const auto& [name, kernel] : kernels_)
    if (kernel.executed.launches > 0) all[name] = kernel.executed;
  return all;
}

Library* Library::chosen() {
  static const std::unique_ptr<Library> library = [] {
    const char* const folder = std::getenv("WEFT_EMULATION_PTX");
    auto found = folder == nullptr ? nullptr : std::make_unique<Library>(folder);
    if (found && std::getenv("WEFT_EMULATION_PTX_COUNTS") != nullptr) found->measure_costs();
    return found;
  }();
  return library.get();
}

const Program& Library::program_of(const std::string& name, Kernel& kernel) {
  if (!kernel.program) {
    kernel.program = decode(kernel.module->source, *kernel.function, kernel.module->globals);
    kernel.program->name = name;
  }
  return *kernel.program;
}

void Library::run(const std::string& name, Launch launch) {
  launch.measures_costs = measures_costs_;
  std::unique_lock lock(mutex_);
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) throw Error("no .ptx file contains the kernel " + name);
  Kernel& kernel = found->second;
  const Program& program = program_of(name, kernel);
  lock.unlock();
  const Counts counts = ptx::run(program, kernel.module->globals, launch);
  lock.lock();
  ++kernel.executed.launches;
  kernel.executed.counts.add(counts);
}

}  // namespace weft::emulation::ptx
