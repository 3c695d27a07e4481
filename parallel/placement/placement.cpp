// parallel/placement/placement.cpp: binds this rank and collects the placement of all ranks.
#include "parallel/placement/placement.h"

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

namespace weft {
namespace {

bool openmp_places_threads() {
  const std::initializer_list<const char*> variables = {"OMP_PLACES", "OMP_PROC_BIND", "GOMP_CPU_AFFINITY"};
  return std::any_of(variables.begin(), variables.end(), [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && strcasecmp(value, "false") != 0;  // OMP_PROC_BIND=false
  });
}

std::vector<Cores> cores_of_ranks(Communicator& host, const Cores& own) {
  std::vector<Cores> all;
  for (const std::string& text : host.all_gather_strings(text_of(own))) all.push_back(cores_from_text(text));
  return all;
}

}  // namespace

PlacementReport place_ranks(bool bind, const RankDevice& own, Communicator& world, const std::string& sysfs) {
  const auto host = world.split_by_host();
  const std::vector<NumaNode> nodes = numa_nodes(sysfs);
  const bool on_gpu = own.device == Device::cuda;
  RankPlace place{
      .host = host_name(), .nodes_of_host = static_cast<int>(nodes.size()), .stays = !bind || openmp_places_threads()};
  if (on_gpu) {
    place.gpu = own.index;
    place.gpu_node = numa_node_of_device(device_properties(own.device).pci_address, sysfs);
  }
  const RankOfHost rank{.rank = host->rank(), .size = host->size(), .gpu_node = place.gpu_node};
  if (bind && !openmp_places_threads()) {
    const Cores wanted = cores_to_bind_to(nodes, cores_of_this_thread(), rank);
    place.bound = !wanted.empty() && bind_this_thread(wanted);
  }
  place.cores = cores_of_this_thread();
  place.nodes = nodes_of(nodes, place.cores);
  place.threads = num_threads_of(cores_of_ranks(*host, place.cores), host->rank());
  set_num_threads(place.threads);
  place.quota = container_quota(sysfs);
  if (host->is_main_rank()) place.networks = networks_of_host(sysfs);
  const std::vector<std::string> texts = world.all_gather_strings(to_text(place));
  if (!world.is_main_rank()) return {};
  std::vector<RankPlace> ranks;
  for (const std::string& text : texts) ranks.push_back(place_from_text(text));
  return describe_placement(ranks, network_choice());
}

}  // namespace weft
