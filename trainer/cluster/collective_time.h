// trainer/cluster/collective_time.h: the predicted time of a collective in a group that spans nodes.
#pragma once

#include <cstdint>

#include "trainer/cluster/machine.h"

namespace weft {

struct Group {
  int64_t ranks = 1, of_node = 1;  // in all, and how many of them share a node
  int64_t nodes() const { return (ranks + of_node - 1) / of_node; }
};

// The tp group and the dp group of a grid whose tp ranks are neighbours (parallel/mesh.h).
Group tp_group(const Machine& machine, int64_t tp);
Group dp_group(const Machine& machine, int64_t dp, int64_t tp);

// Latency, and `bytes` through the slowest link. A link carries 2 (N - 1) / N of the bytes of an all-reduce, half of
// that of a reduce-scatter or an all-gather (Patarasuk & Yuan 2009), and all bytes of a broadcast; the ranks of a node
// share its links to other nodes. NCCL's latencies (src/graph/tuning.cc): of a ring a hop for each of its steps,
// 2 (N - 1) or N - 1, of which those between nodes take longer; of a tree two hops for each rank of a node and each
// doubling of nodes. An all-reduce takes the faster of the two; the others have rings only.
double all_reduce_seconds(const Machine& machine, const Group& group, double bytes);
double reduce_scatter_seconds(const Machine& machine, const Group& group, double bytes);  // of the whole tensor
double all_gather_seconds(const Machine& machine, const Group& group, double bytes);      // of the whole tensor
double broadcast_seconds(const Machine& machine, const Group& group, double bytes);

double sent_bytes(const Group& group, double bytes);  // by a rank in an all-reduce of a ring

// Of a few numbers of each rank between the hosts' processes, over MPI.
double host_exchange_seconds(const Machine& machine, int64_t ranks, double bytes_of_a_rank);

}  // namespace weft
