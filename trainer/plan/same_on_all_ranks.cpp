// trainer/plan/same_on_all_ranks.cpp: compares configurations line by line, and corpora by their manifests.
#include "trainer/plan/same_on_all_ranks.h"

#include <sstream>

#include "data/sha256.h"
#include "data/shards/manifest.h"
#include "tensor/error.h"

namespace weft {
namespace {

// The first line of `own` that is not that of `main`, with its section: "train.seed = 2, on rank 0 seed = 1".
std::string first_difference(const std::string& main, const std::string& own) {
  std::istringstream main_lines(main), own_lines(own);
  std::string section, wanted;
  for (std::string line; std::getline(own_lines, line);) {
    std::getline(main_lines, wanted);
    if (line != wanted) return fmt::format("{}.{}, on rank 0 {}", section, line, wanted);
    if (line.size() > 2 && line.front() == '[') section = line.substr(1, line.size() - 2);
  }
  return "options are missing";
}

std::string digest_of(const std::string& corpus) {
  return corpus.empty() ? "" : sha256_of_file(corpus + "/" + kManifestFile);
}

}  // namespace

void require_same_on_all_ranks(const RunConfig& config, const std::string& config_text, Communicator& world) {
  const std::string main_text = world.broadcast_string(config_text, 0);
  const std::string digests =
      all_or_none(world, [&] { return digest_of(config.data.train) + "\n" + digest_of(config.data.valid); });
  const std::string main_digests = world.broadcast_string(digests, 0);
  all_or_none(world, [&] {
    if (config_text != main_text)
      fail(ErrorKind::usage, fmt::format("rank {} was given {}: start all ranks with the same options", world.rank(),
                                         first_difference(main_text, config_text)));
    if (digests != main_digests)
      fail(ErrorKind::usage, fmt::format("rank {} sees another corpus than rank 0 in {} or {}: all ranks need the same "
                                         "files",
                                         world.rank(), config.data.train, config.data.valid));
  });
}

}  // namespace weft
