// tests/emulation/ptx_tests/ptx_fixture.h: runs PTX that a test writes, with arrays as its arguments.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/emulation/ptx/kernel.h"
#include "tests/emulation/ptx/source.h"

namespace weft::emulation::ptx {

class PtxKernel {
 public:
  uint32_t threads = 32, blocks = 1;
  size_t dynamic_shared_bytes = 0;
  CopyTime copies = CopyTime::random;
  uint64_t seed = 1;
  bool measures_costs = false;

  // `declarations` precede the kernel, whose parameters are the arrays' addresses in %rd0, %rd1, ...
  std::string body, declarations = "";

  template <typename... Ts>
  Counts run(std::vector<Ts>&... arrays) const {
    std::vector<std::vector<std::byte>> arguments;
    std::vector<std::span<const std::byte>> allocated;
    (add(std::as_bytes(std::span(arrays)), arguments, allocated), ...);
    const Source source = parse(text(arguments.size()), "test.ptx");
    const Globals globals(source.variables);
    const Program program = decode(source, source.functions.at("kernel"), globals);
    const Allocations allocations = [&](uint64_t address) {
      for (const auto& array : allocated)
        if (address - reinterpret_cast<uintptr_t>(array.data()) < array.size()) return array;
      return std::span<const std::byte>();
    };
    return ptx::run(program, globals,
                    {.grid = {blocks, 1, 1},
                     .block = {threads, 1, 1},
                     .dynamic_shared_bytes = dynamic_shared_bytes,
                     .arguments = arguments,
                     .allocations = &allocations,
                     .copies = copies,
                     .seed = seed,
                     .measures_costs = measures_costs});
  }

  // The message of the Error that run() throws; empty if there is none.
  template <typename... Ts>
  std::string error(std::vector<Ts>&... arrays) const {
    try {
      run(arrays...);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  static void add(std::span<const std::byte> array, std::vector<std::vector<std::byte>>& arguments,
                  std::vector<std::span<const std::byte>>& allocated) {
    const auto address = reinterpret_cast<uintptr_t>(array.data());
    std::vector<std::byte>& argument = arguments.emplace_back(sizeof address);
    std::memcpy(argument.data(), &address, sizeof address);
    allocated.push_back(array);
  }

  std::string text(size_t num_arrays) const {
    std::string params, loads;
    for (size_t i = 0; i < num_arrays; ++i) {
      const std::string n = std::to_string(i);
      params += (i == 0 ? ".param .u64 array" : ", .param .u64 array") + n;
      loads += "ld.param.u64 %rd" + n + ", [array" + n + "];\n";
    }
    return ".version 9.0\n.target sm_90\n.address_size 64\n" + declarations + "\n.entry kernel(" + params +
           ")\n.maxntid 1024, 1, 1\n{\n.reg .pred %p<8>;\n.reg .b16 %rs<8>;\n.reg .b32 %r<32>;\n.reg .f32 %f<16>;\n"
           ".reg .f64 %fd<8>;\n.reg .b64 %rd<16>;\n" +
           loads + body + "\nret;\n}\n";
  }
};

}  // namespace weft::emulation::ptx
