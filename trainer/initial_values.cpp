// trainer/initial_values.cpp: loads parameters from another run's checkpoint and checks that model and tokenizer match.
#include "trainer/initial_values.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/sha256.h"
#include "tensor/error.h"
#include "trainer/checkpoint/average.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/config/changed_options.h"
#include "trainer/config/config_text.h"
#include "trainer/flat_states.h"
#include "trainer/train_state.h"

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

CheckpointLease initial_values_from(Replica& replica, const FlatState& values, const std::string& path,
                                    const ModelConfig& model, const MixCorpus& corpus) {
  Context& ctx = replica.context();
  const ParamStore& params = replica.params();
  Communicator& world = replica.mesh().world();
  CheckpointLease lease;
  all_or_none(world, [&] {  // only one rank resolves links, because they may change
    if (world.is_main_rank()) for_the_option([&] { lease = lease_checkpoint(path); });
  });
  const std::string folder = lease.folder = world.broadcast_string(lease.folder, 0);
  const bool adapts = params.has_adapters();  // then the folder is the base, and the adapters keep their initial values
  all_or_none(world, [&] {
    for_the_option([&] {
      verify_small_files(folder, read_checkpoint_manifest(folder));
      require_same_tokenizers(folder, corpus);
      const ModelConfig theirs = kept_config(folder).model;
      if (theirs.lora.on())
        fail(ErrorKind::usage, fmt::format("{} contains adapters: merge them into their model with `weft average {} "
                                           "--last 1 --output DIR`, and start from DIR",
                                           folder, path));
      require_same_model(theirs, model, folder);
      load_checkpoint(ctx, folder, params,
                      {stored_weights(folder, StoredWeights::evaluation, adapts ? frozen_state(params) : values)});
    });
  });
  if (adapts) {
    params.round_frozen(ctx);
  } else if (!values.take) {
    params.round_values(ctx);
  }
  return lease;
}

AdapterState keep_base(const std::string& folder, const std::string& checkpoints, double scale) {
  const std::string root = base_root(checkpoints);
  const ErrorFrame frame(fmt::format("while copying {} to {}", folder, root));
  std::filesystem::remove_all(root);  // of a run that ended before its first save
  const CheckpointManifest manifest = read_checkpoint_manifest(folder);
  TrainState state;
  state.step = manifest.step;
  const std::string config = CheckedReader(folder + "/" + kConfigFile).read_all();
  const std::string base =
      average_checkpoints({folder}, StoredWeights::evaluation, root, {.state = state.to_json(), .config = config});
  return {.base = read_checkpoint_manifest(base).files.at(kModelFile).sha256, .scale = scale};
}

void load_base(Replica& replica, const std::string& checkpoint) {
  const ParamStore& params = replica.params();
  if (!params.has_adapters()) return;
  Communicator& world = replica.mesh().world();
  const std::unique_ptr<Communicator> host = world.split_by_host();
  const std::string folder = all_or_none(world, [&] { return base_of(checkpoint); });
  require(!folder.empty(), ErrorKind::checkpoint, "the checkpoint contains no adapters, but this run has lora.rank");
  all_or_none(world, [&] {
    load_tensors(replica.context(), folder, params, {frozen_state(params)}, *host, /*verified=*/false);
  });
  params.round_frozen(replica.context());
}

}  // namespace weft
