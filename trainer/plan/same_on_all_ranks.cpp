// trainer/plan/same_on_all_ranks.cpp: compares the configurations, and the manifests of the corpora.
#include "trainer/plan/same_on_all_ranks.h"

#include <fmt/ranges.h>

#include "tensor/error.h"
#include "trainer/config/changed_options.h"
#include "trainer/config/config_text.h"

namespace weft {
namespace {

// Omits the timeout, which may differ between ranks because it does not change results.
std::string text_to_compare(RunConfig config) {
  config.parallel.timeout = 0;
  return text_to_keep(config);
}

std::string first_difference(const std::string& main, const std::string& own) {
  RunConfig of_main, of_own;
  apply_cfg(main, "rank 0", of_main, UnknownKeys::left_out);
  apply_cfg(own, "this rank", of_own);
  const std::vector<ChangedOption> changed = changed_options(of_main, of_own);
  if (changed.empty()) return "options of a different version of weft";
  return fmt::format("{} = {}, but rank 0 was given {}", changed[0].name, changed[0].to, changed[0].from);
}

std::string digests_of(const ResolvedRun& run) {
  std::string digests;
  for (const Stage& stage : run.stages)
    for (const MixCorpus& corpus : stage.corpora) digests += corpus.manifest().sha256 + "\n";
  for (const ValidationSet& set : run.valid) digests += set.opened->manifest().sha256 + "\n";
  return digests;
}

std::vector<std::string> folders_of(const ResolvedRun& run) {
  std::vector<std::string> folders = training_folders(run.stages);
  for (const ValidationSet& set : run.valid) folders.push_back(set.folder);
  return folders;
}

}  // namespace

void require_same_on_all_ranks(const ResolvedRun& run, Communicator& world) {
  const std::string config_text = text_to_compare(run.config);
  const std::string main_text = world.broadcast_string(config_text, 0);
  const std::string digests = digests_of(run), main_digests = world.broadcast_string(digests, 0);
  all_or_none(world, [&] {
    if (config_text != main_text)
      fail(ErrorKind::usage, fmt::format("rank {} was given {}: start all ranks with the same options", world.rank(),
                                         first_difference(main_text, config_text)));
    if (digests != main_digests)
      fail(ErrorKind::usage,
           fmt::format("rank {} finds a different corpus than rank 0 in {}: give all ranks the same files",
                       world.rank(), fmt::join(folders_of(run), " or ")));
  });
}

}  // namespace weft
