// trainer/initial_values.cpp: loads parameters from another run's checkpoint and checks that model and tokenizer match.
#include "trainer/initial_values.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/sha256.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/config/changed_options.h"
#include "trainer/config/config_text.h"

namespace weft {
namespace {

// The tokenizers must be the same, because they define the meaning of each embedding row.
void require_same_tokenizers(const std::string& folder, const MixCorpus& corpus) {
  const Manifest& data = corpus.manifest();
  const bool joint = std::filesystem::exists(folder + "/tokenizer.model");
  const auto same = [&](const char* own_name, const std::string& packed_with) {
    const std::string file = folder + (joint ? "/tokenizer.model" : own_name);
    if (sha256_of_file(file) != packed_with)
      fail(ErrorKind::usage,
           fmt::format("{} was not packed with the tokenizer {}: pack the corpus again with --tokenizer {}",
                       corpus.folder, file, folder));
  };
  same("/source.model", data.source_tokenizer_sha256);
  same("/target.model", data.target_tokenizer_sha256);
}

// Puts the option's name in front of errors about the checkpoint.
template <typename Action>
auto for_the_option(Action&& action) try {
  return action();
} catch (const Error& e) {
  fail(e.kind(), fmt::format("train.init: {}", e.what()));
}

}  // namespace

std::string initial_values_from(Replica& replica, const FlatState& values, const std::string& path,
                                const ModelConfig& model, const MixCorpus& corpus) {
  Context& ctx = replica.context();
  const ParamStore& params = replica.params();
  Communicator& world = replica.mesh().world();
  CheckpointLease lease;
  all_or_none(world, [&] {  // only one rank resolves links, because they may change
    if (world.is_main_rank()) for_the_option([&] { lease = lease_checkpoint(path); });
  });
  const std::string folder = world.broadcast_string(lease.folder, 0);
  all_or_none(world, [&] {
    for_the_option([&] {
      verify_small_files(folder, read_checkpoint_manifest(folder));
      require_same_tokenizers(folder, corpus);
      require_same_model(kept_config(folder).model, model, folder);
      load_checkpoint(ctx, folder, params, {stored_weights(folder, StoredWeights::evaluation, values)});
    });
  });
  if (!values.take) params.round_values(ctx);
  return folder;
}

}  // namespace weft
