// trainer/cluster/collective_time.h: predicts the time of collectives within and between nodes.
#pragma once

#include <cstdint>

#include "trainer/cluster/machine.h"

namespace weft {

struct Group {
  int64_t ranks = 1, of_node = 1;  // ranks of the group: in total, and per node
  int64_t nodes() const { return (ranks + of_node - 1) / of_node; }
};

// Return the tp group and the dp group of a grid in which the ranks of a tp group are neighbors (parallel/mesh.h).
Group tp_group(const Machine& machine, int64_t tp);
Group dp_group(const Machine& machine, int64_t dp, int64_t tp);

// Return the latency plus the transfer time on the slowest link. Of `bytes`, a link carries 2(N-1)/N in an all-reduce
// of N ranks, (N-1)/N in a reduce-scatter or an all-gather (Patarasuk & Yuan 2009), and all in a broadcast. The ranks
// of a node share its links to other nodes. Latencies follow NCCL (src/graph/tuning.cc). A ring takes 2(N-1) hops for
// an all-reduce and N-1 otherwise, and hops between nodes take longer. A tree takes two hops per other rank of the node
// and two per doubling of nodes. An all-reduce uses the faster of ring and tree, and other collectives use rings.
double all_reduce_seconds(const Machine& machine, const Group& group, double bytes);
double reduce_scatter_seconds(const Machine& machine, const Group& group, double bytes);  // bytes of the whole tensor
double all_gather_seconds(const Machine& machine, const Group& group, double bytes);      // bytes of the whole tensor
double broadcast_seconds(const Machine& machine, const Group& group, double bytes);

double sent_bytes(const Group& group, double bytes);  // bytes that a rank sends in a ring all-reduce

// Rounded gradients (parallel/grad_sync.h) are added in f32 within each node, and sent between nodes in an all-to-all.
// Without has_levels(), the ranks send all parts of the gradients in a single all-to-all. `bytes` are those of the
// whole tensor in f32, `rounded` those in the wire type. In an all-to-all, each rank uses its own share of the links
// between nodes, unlike in a ring, where the ranks of a node use them together. Latencies are those of a ring.
bool has_levels(const Group& group);  // true if there are several nodes with the same number of ranks, at least 2
double rounded_scatter_seconds(const Machine& machine, const Group& group, double bytes, double rounded);
double rounded_sent_bytes(const Group& group, double bytes, double rounded);

// Returns the time in which the processes on the hosts exchange a few numbers per rank over MPI.
double host_exchange_seconds(const Machine& machine, int64_t ranks, double bytes_of_a_rank);

}  // namespace weft
