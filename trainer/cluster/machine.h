// trainer/cluster/machine.h: describes a machine for `weft plan` (configs/machines/*.cfg).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "tensor/enum_names.h"
#include "trainer/config/run_config.h"

namespace weft {

enum class ConstantOrigin : uint8_t { assumed, given, measured, fitted };
constexpr EnumNames<ConstantOrigin, 4> enum_names(ConstantOrigin) {
  return {{{"assumed", ConstantOrigin::assumed},
           {"given", ConstantOrigin::given},  // from a data sheet, a publication, or the user
           {"measured", ConstantOrigin::measured},
           {"fitted", ConstantOrigin::fitted}}};  // fitted to measured times of steps
}

// A number and its origin, written as "45e9 assumed". If the text contains only a number, the origin is `given`.
struct Constant {
  double value = 0;
  ConstantOrigin origin = ConstantOrigin::assumed;

  operator double() const { return value; }
  template <std::integral T>
  operator T() const = delete;          // a fraction would become 0
  bool parse(const std::string& text);  // changes nothing and returns false if the text is not valid (kAllowed)
  std::string text() const;
  static constexpr char kAllowed[] =
      "a number of 0 or more and its origin (measured, given, assumed or fitted), for example '45e9 given'";
};

struct ProcessorConfig {  // for one rank
  Precision precision = Precision::automatic;
  Constant flops, block_seconds, update_bandwidth, memory, copy_bandwidth;
  Constant lost_to_collectives{0.1}, sentences{100}, planner{0.48e-3};

  template <typename V>
  void fields(V& v) {
    v("precision", precision, "train.precision for which the rates below hold; auto = any precision");
    v("flops", flops, "FLOP/s in forward and backward passes, counting only matrix products and attention");
    v("block_seconds", block_seconds, "constant overhead per block, in seconds");
    v("update_bandwidth", update_bandwidth, "bytes/s that the optimizer step (zeroing, norm, Adam) reads and writes");
    v("memory", memory, "memory of a GPU in bytes; 0 = the ranks run on CPUs, and memory is not checked");
    v("copy_bandwidth", copy_bandwidth, "bytes per second copied from a GPU to its host; 0 = both share memory");
    v("lost_to_collectives", lost_to_collectives,
      "fraction of its speed that computation loses while a collective runs; 1 = no overlap");
    v("sentences", sentences, "sentences per second that a rank translates in validations");
    v("planner", planner, "CPU seconds to plan and read a block of 4,096 rows, in parallel with computation");
  }
};

struct NodeConfig {
  int64_t ranks = 8, cores = 0;
  Constant bandwidth, latency, hop;

  template <typename V>
  void fields(V& v) {
    v("ranks", ranks, "ranks per node, usually the number of GPUs per node");
    v("cores", cores, "cores that the ranks of a node share; 0 = each rank has its own processor");
    v("bandwidth", bandwidth, "bytes per second that a rank sends within its node in collectives (bus bandwidth)");
    v("latency", latency, "seconds to start a collective");
    v("hop", hop, "seconds per hop between two ranks of a node in a collective");
  }
};

struct NetworkConfig {
  Constant bandwidth, hop, host_latency{5e-6}, spread;

  template <typename V>
  void fields(V& v) {
    v("bandwidth", bandwidth, "bytes per second that a rank sends to other nodes");
    v("hop", hop, "seconds per hop between two nodes in a collective; a tree has two hops per doubling of the nodes");
    v("host_latency", host_latency, "seconds per message between hosts; an exchange takes log2(ranks) messages");
    v("spread", spread, "seconds that ranks wait for the slowest rank in each step, per doubling of the node count");
  }
};

struct DiskConfig {
  Constant bandwidth{1e9};

  template <typename V>
  void fields(V& v) {
    v("bandwidth", bandwidth, "bytes per second that all ranks together can write to the run's folder");
  }
};

struct Machine {
  std::string name;
  double other_programs = 0;
  ProcessorConfig processor;
  NodeConfig node;
  NetworkConfig network;
  DiskConfig disk;

  bool is_gpu() const { return processor.memory.value > 0; }  // only GPUs have their own memory

  template <typename V>
  void sections(V& v) {
    v("name", name, "name of the machine in reports");
    v("other_programs", other_programs,
      "share of the cores that other programs used during `weft bench --machine`; above 0.1, the plan warns");
    v("processor", processor);
    v("node", node);
    v("network", network);
    v("disk", disk);
  }
};

// Throws an Error of kind usage if a number is missing or impossible for `ranks` ranks.
void check_machine(const Machine& machine, int64_t ranks);

}  // namespace weft
