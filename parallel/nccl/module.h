// parallel/nccl/module.h: declares the interface of libweft_nccl.so, which exports one name.
#pragma once

#include <memory>

#include "parallel/nccl.h"

namespace weft::nccl {

struct Module {
  int (*version)() = nullptr;  // ncclGetVersion: 22809 is 2.28.9
  std::unique_ptr<Communicator> (*make_communicator)(Context& ctx, Communicator& host, NcclLimits limits) = nullptr;
};

// The module exports `const Module* weft_nccl_module(int version)`, which returns nullptr for other versions.
inline constexpr int kModuleVersion = 1;
inline constexpr const char* kModuleFile = "libweft_nccl.so";
inline constexpr const char* kModuleEntry = "weft_nccl_module";
using ModuleEntry = const Module* (*)(int version);

}  // namespace weft::nccl
