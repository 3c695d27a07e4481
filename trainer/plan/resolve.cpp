// trainer/plan/resolve.cpp: checks options, corpora and ranks in order.
#include "trainer/plan/resolve.h"

#include <filesystem>
#include <optional>

#include "model/transformer.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/config/config_text.h"
#include "trainer/plan/check_options.h"
#include "trainer/plan/open_data.h"
#include "trainer/plan/same_on_all_ranks.h"
#include "trainer/plan/update_options.h"
#include "trainer/stages/mix_rates.h"

namespace weft {
namespace {

void match_vocabulary(int64_t& wanted, int64_t packed, const char* option, const std::string& folder) {
  if (wanted == 0) wanted = packed;
  if (wanted != packed)
    fail(ErrorKind::usage,
         fmt::format("{} = {}, but {} was packed with a vocabulary of {}: set the option to 0, or pack again", option,
                     wanted, folder, packed));
}

void match_model(ModelConfig& model, const MixCorpus& corpus) {
  const Manifest& data = corpus.manifest();
  match_vocabulary(model.source_vocabulary, data.source_vocabulary, "model.source_vocabulary", corpus.folder);
  match_vocabulary(model.target_vocabulary, data.target_vocabulary, "model.target_vocabulary", corpus.folder);
  if (model.tying == Tying::all && !data.joint_vocabulary)
    fail(ErrorKind::usage, fmt::format("model.tying = all needs one joint vocabulary, but {} was packed with two: "
                                       "use model.tying = output, or pack without --separate-vocabularies",
                                       corpus.folder));
}

void require_trainable(const RunConfig& c) {
  ParamStore params(/*tp_rank=*/0, /*tp_size=*/1, DType::f32, Device::cpu, ParamUse::training, frozen_names(c));
  const Transformer model(c.model, params, /*num_positions=*/1);
  if (const auto unmatched = params.unmatched_frozen_names(); !unmatched.empty())
    fail(ErrorKind::usage, fmt::format("train.freeze: no parameter is named {}; `weft inspect model` lists the names",
                                       unmatched.front()));
  require(params.trainable_numel() > 0, ErrorKind::usage, "train.freeze leaves no parameter that trains");
}

// Returns batch.source_rows of the run to resume, because blocks keep their shape even if the data has changed. Reads
// the newest undamaged checkpoint, from which the run resumes. After a crash, the link `latest` may be missing, or the
// newest checkpoint may be damaged.
std::optional<int64_t> source_rows_of_run(const RunConfig& c) {
  const std::string root = c.train.output + "/checkpoints";
  if (c.train.fresh || !std::filesystem::exists(root)) return std::nullopt;
  for (const std::string& folder : step_folders(root)) {
    try {
      verify_small_files(folder, read_checkpoint_manifest(folder));
      return kept_config(folder).batch.source_rows;
    } catch (const Error&) {  // find_latest_checkpoint() also skips this folder, and reports why
    }
  }
  return std::nullopt;
}

// Lets train.epochs or train.tokens end the run instead of the default of train.steps: 0 = no such end.
RunConfig with_one_end(RunConfig c) {
  if ((!c.train.epochs.empty() || c.train.tokens > 0) && c.train.steps == TrainConfig().steps) c.train.steps = 0;
  return c;
}

// Opens the data and fills in the options on this rank, without communication.
ResolvedRun read(const RunConfig& given, int ranks) {
  const RunConfig wanted = with_one_end(given);
  std::vector<Stage> stages = parse_stages(wanted);
  if (stages.empty())
    fail(ErrorKind::usage,
         "no training data: set data.train, or the mix of a stage (stage.NAME.mix), to a folder from `weft pack`");
  if (wanted.train.output.empty()) fail(ErrorKind::usage, "train.output is not set: name a folder for the run");
  std::vector<ValidationSet> valid = parse_validation_sets(wanted.data.valid);
  const BestRule best(wanted.train.keep_best, valid);
  check_options(wanted, stages, best);
  ResolvedRun run{.config = wanted, .stages = std::move(stages), .valid = std::move(valid), .best = best};
  RunConfig& c = run.config;
  open_training_corpora(c, run.stages);
  match_model(c.model, run.first_corpus());
  open_validation_sets(c, run.first_corpus(), run.valid);
  c.parallel = resolve_grid(c.parallel, ranks);
  c.model.resolve(c.parallel.tp);
  require_trainable(c);
  if (c.batch.source_rows == 0)
    c.batch.source_rows = source_rows_of_run(c).value_or(source_rows_for(run.stages.front().corpora, c.batch.rows));
  resolve_blocks(c.batch);
  require_even_rows(c);
  require_pairs(c, run.stages);
  require_all_pairs_fit(run.valid, c.batch);
  require_positions(c, run.stages, run.valid);
  return run;
}

}  // namespace

ResolvedRun resolve(const RunConfig& config, Communicator& world, int ranks) {
  ResolvedRun run = all_or_none(world, [&] { return read(config, ranks == 0 ? world.size() : ranks); });
  require_same_on_all_ranks(run, world);
  count_usable_pairs(run.stages, world);
  check_schedule(run.config.schedule, steps_of_run(run.config, run.stages));
  return run;
}

}  // namespace weft
