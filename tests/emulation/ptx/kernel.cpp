// tests/emulation/ptx/kernel.cpp: lays out arguments and special registers, and runs the warps of a block in turns.
#include "tests/emulation/ptx/kernel.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>

namespace weft::emulation::ptx {
namespace {

std::vector<std::byte> params_of(const Program& program, const Launch& launch) {
  if (launch.arguments.size() != program.params.size())
    throw Error(std::to_string(launch.arguments.size()) + " arguments instead of " +
                std::to_string(program.params.size()));
  std::vector<std::byte> params(program.param_bytes);
  for (size_t i = 0; i < program.params.size(); ++i) {
    const std::vector<std::byte>& argument = launch.arguments[i];
    if (argument.size() != program.params[i].bytes)
      throw Error("argument " + std::to_string(i) + " has " + std::to_string(argument.size()) + " bytes instead of " +
                  std::to_string(program.params[i].bytes));
    std::copy(argument.begin(), argument.end(), params.begin() + static_cast<std::ptrdiff_t>(program.param_offsets[i]));
  }
  return params;
}

uint32_t axis_of(const std::array<uint32_t, 3>& values, const std::string& name) {
  return values[static_cast<size_t>(name.back() - 'x')];
}

class Runner {
 public:
  Runner(const Program& program, const Launch& launch, BlockMemory& memory)
      : program_(program), launch_(launch), memory_(memory), random_(launch.seed) {
    const auto [x, y, z] = launch.block;
    for (uint32_t first = 0; first < x * y * z; first += kLanes) {
      const uint32_t num = std::min<uint32_t>(kLanes, x * y * z - first);
      lanes_.push_back(num == kLanes ? kAllLanes : (1u << num) - 1);
      write_registers(warps_.emplace_back(program, static_cast<int>(first) / kLanes, launch.measures_costs));
    }
  }

  Counts run() {
    std::vector<uint64_t> blocks(uint64_t{launch_.grid[0]} * launch_.grid[1] * launch_.grid[2]);
    std::iota(blocks.begin(), blocks.end(), 0);
    std::ranges::shuffle(blocks, random_);
    for (const uint64_t block : blocks) run_block(block);
    return counts_;
  }

 private:
  void write_registers(Warp& warp) {
    for (const auto& [to, bits] : program_.constants) {
      if (to.bytes == kPredicate) warp.predicate(to) = bits == 0 ? 0 : kAllLanes;
      for (int lane = 0; lane < kLanes; ++lane)
        std::memcpy(warp.lanes<std::byte>(to) + ptrdiff_t{lane} * to.bytes, &bits, to.bytes);
    }
    for (const auto& [to, name] : program_.special_registers)
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto thread = static_cast<uint32_t>(warp.thread(lane));
        const auto [x, y, z] = launch_.block;
        const std::array<uint32_t, 3> index{thread % x, thread / x % y, thread / x / y};
        uint32_t& value = warp.lanes<uint32_t>(to)[lane];
        if (name == "%laneid")
          value = static_cast<uint32_t>(lane);
        else if (name.starts_with("%tid"))
          value = axis_of(index, name);
        else if (name.starts_with("%ntid"))
          value = axis_of(launch_.block, name);
        else if (name.starts_with("%nctaid"))
          value = axis_of(launch_.grid, name);
      }
  }

  void run_block(uint64_t block) {
    const auto [x, y, z] = launch_.grid;
    const std::array<uint32_t, 3> index{static_cast<uint32_t>(block % x), static_cast<uint32_t>(block / x % y),
                                        static_cast<uint32_t>(block / x / y)};
    memory_.start_block();
    ++counts_.blocks;
    for (size_t i = 0; i < warps_.size(); ++i) {
      warps_[i].start(lanes_[i], memory_, sectors_);
      for (const auto& [to, name] : program_.special_registers)
        if (name.starts_with("%ctaid")) std::fill_n(warps_[i].lanes<uint32_t>(to), kLanes, axis_of(index, name));
    }
    do run_to_barrier();
    while (pass_barrier());
    if (!launch_.measures_costs) return;
    counts_.load_chains += most_of_warps(&CostMeter::longest_chain);
    sectors_.finish(counts_);
  }

  void run_to_barrier() {
    std::vector<size_t> order(warps_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random_);
    for (const size_t i : order) warps_[i].run(counts_);
  }

  bool pass_barrier() {  // false: all warps have ended
    bool any = false;
    for (Warp& warp : warps_)
      if (!warp.has_ended()) warp.pass_barrier(), any = true;
    memory_.pass_barrier();
    if (launch_.measures_costs) {
      const int depth = most_of_warps(&CostMeter::stored_depth);
      for (Warp& warp : warps_) warp.costs()->pass_barrier(depth);
    }
    return any;
  }

  int most_of_warps(int (CostMeter::*depth)() const) {
    int most = 0;
    for (Warp& warp : warps_) most = std::max(most, (warp.costs()->*depth)());
    return most;
  }

  const Program& program_;
  const Launch& launch_;
  BlockMemory& memory_;
  std::mt19937_64 random_;
  std::vector<Warp> warps_;
  std::vector<Mask> lanes_;
  BlockSectors sectors_;
  Counts counts_;
};

}  // namespace

Counts run(const Program& program, const Globals& globals, const Launch& launch) try {
  const uint32_t threads = launch.block[0] * launch.block[1] * launch.block[2];
  if (threads > program.max_threads)
    throw Error(std::to_string(threads) + " threads, but __launch_bounds__ allows " +
                std::to_string(program.max_threads));
  const std::vector<std::byte> params = params_of(program, launch);
  BlockMemory memory(program, {.dynamic_shared_bytes = launch.dynamic_shared_bytes,
                               .num_threads = static_cast<int>(threads + kLanes - 1) / kLanes * kLanes,
                               .params = params,
                               .globals = &globals,
                               .allocations = launch.allocations,
                               .copies = launch.copies,
                               .seed = launch.seed});
  return Runner(program, launch, memory).run();
} catch (const Error& error) {
  throw Error(program.name + " of " + program.file + ", " + error.what());
}

}  // namespace weft::emulation::ptx
