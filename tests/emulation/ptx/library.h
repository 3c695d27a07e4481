// tests/emulation/ptx/library.h: the PTX of a module's kernels, which runs in their place if WEFT_EMULATION_PTX names
// its folder.
//
// Every kernel then runs as PTX: a kernel that the folder lacks, or an instruction that the interpreter does not know,
// is a fault of the launch. At the end of the process, WEFT_EMULATION_PTX_COUNTS=FILE gets the costs of each kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulation/ptx/kernel.h"

namespace weft::emulation::ptx {

class Library {
 public:
  explicit Library(const std::string& folder);  // reads each .ptx of the folder; throws an Error if one is not valid
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  static Library* chosen();  // by the environment; nullptr: none

  void measure_costs() { measures_costs_ = true; }  // of all later launches
  struct KernelCounts {
    int64_t launches = 0;
    Counts counts;
  };
  std::map<std::string, KernelCounts> counts();  // of the kernels that ran, by name

  // `kernel` is its name without parameters, as census.h shows it. Throws an Error.
  void run(const std::string& kernel, Launch launch);

 private:
  struct Module {
    Source source;
    Globals globals;
  };
  struct Kernel {
    const Module* module = nullptr;
    const Function* function = nullptr;
    std::optional<Program> program;  // once it is decoded
    KernelCounts executed;
  };
  const Program& program_of(const std::string& name, Kernel& kernel);

  std::vector<std::unique_ptr<Module>> modules_;
  std::map<std::string, Kernel> kernels_;
  std::mutex mutex_;
  std::atomic<bool> measures_costs_ = false;
};

}  // namespace weft::emulation::ptx
