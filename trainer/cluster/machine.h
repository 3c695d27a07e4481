// trainer/cluster/machine.h: what `weft plan` knows of a machine: configs/machines/*.cfg.
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
           {"given", ConstantOrigin::given},  // by a data sheet, a source, or the user
           {"measured", ConstantOrigin::measured},
           {"fitted", ConstantOrigin::fitted}}};  // to measurements of whole steps
}

// A number and where it comes from, as text "45e9 assumed". Without a word it is given.
struct Constant {
  double value = 0;
  ConstantOrigin origin = ConstantOrigin::assumed;

  operator double() const { return value; }
  template <std::integral T>
  operator T() const = delete;          // a share would become 0
  bool parse(const std::string& text);  // false, and unchanged, unless it is a finite number, 0 or more, and a word
  std::string text() const;
  static constexpr char kAllowed[] =
      "a number, 0 or more, and measured, given, assumed or fitted, such as '45e9 given'";
};

struct ProcessorConfig {  // of a rank
  Precision precision = Precision::automatic;
  Constant flops, block_seconds, update_bandwidth, memory, copy_bandwidth;
  Constant lost_to_collectives{0.1}, sentences{100}, planner{0.48e-3};

  template <typename V>
  void fields(V& v) {
    v("precision", precision, "train.precision that the rates below are of; auto = any");
    v("flops", flops, "operations a second of matrix products and attention in a pass; all else in it is included");
    v("block_seconds", block_seconds, "seconds that a block takes in addition");
    v("update_bandwidth", update_bandwidth, "bytes a second that zeroing, norm and Adam read and write");
    v("memory", memory, "bytes of a GPU's memory; 0 = of a CPU, or not compared");
    v("copy_bandwidth", copy_bandwidth, "bytes a second from a GPU to its host; 0 = the same memory");
    v("lost_to_collectives", lost_to_collectives,
      "share of the computing speed that a collective takes from the computation beside it; 1 = all: no overlap");
    v("sentences", sentences, "sentences that a rank translates in a second, in validations");
    v("planner", planner, "CPU seconds to plan and read a block of 4,096 rows, beside the computation");
  }
};

struct NodeConfig {
  int64_t ranks = 8, cores = 0;
  Constant bandwidth, latency, hop;

  template <typename V>
  void fields(V& v) {
    v("ranks", ranks, "ranks of a node: its GPUs");
    v("cores", cores, "cores that the ranks of a node share, one for each thread; 0 = each rank has its own processor");
    v("bandwidth", bandwidth, "bytes a second that a rank sends to others of its node in collectives (bus bandwidth)");
    v("latency", latency, "seconds that a collective takes to start");
    v("hop", hop, "seconds from a rank to the next one of the node in a collective");
  }
};

struct NetworkConfig {
  Constant bandwidth, hop, host_latency{5e-6}, spread;

  template <typename V>
  void fields(V& v) {
    v("bandwidth", bandwidth, "bytes a second that a rank sends to other nodes");
    v("hop", hop, "seconds from a node to the next one in a collective; a tree has two for each doubling of nodes");
    v("host_latency", host_latency, "seconds of a message between hosts' processes; an exchange has log2(ranks)");
    v("spread", spread, "seconds a step for each doubling of nodes, in which ranks wait for the slowest");
  }
};

struct DiskConfig {
  Constant bandwidth{1e9};

  template <typename V>
  void fields(V& v) {
    v("bandwidth", bandwidth, "bytes a second that all ranks together write to the folder of a run");
  }
};

struct Machine {
  std::string name;
  ProcessorConfig processor;
  NodeConfig node;
  NetworkConfig network;
  DiskConfig disk;

  bool is_gpu() const { return processor.memory > 0; }  // which has memory of its own

  template <typename V>
  void sections(V& v) {
    v("name", name, "what the machine is, for the report");
    v("processor", processor);
    v("node", node);
    v("network", network);
    v("disk", disk);
  }
};

// An Error of kind usage if a number is missing or cannot be for `ranks` ranks.
void check_machine(const Machine& machine, int64_t ranks);

}  // namespace weft
