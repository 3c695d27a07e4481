// trainer/training_checkpoints.cpp: gathers the ranks' states for a save, and distributes them on resume.
#include "trainer/training_checkpoints.h"

#include <nlohmann/json.hpp>

#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/initial_values.h"

namespace weft {

TrainingCheckpoints::TrainingCheckpoints(const RunConfig& config, const Mesh& mesh, Trainer& trainer,
                                         TrainingData& data)
    : mesh_(mesh), trainer_(trainer), data_(data), blocks_(config.batch.blocks), saver_(mesh) {
  trainer.set_saver(&saver_);
}

TrainingCheckpoints::~TrainingCheckpoints() { trainer_.set_saver(nullptr); }

void TrainingCheckpoints::snapshot(TrainState& state) const {
  trainer_.snapshot(state);
  state.cursor = data_.cursor();
  state.data = data_.stages().state();
}

// Adds the streams of all ranks to the cursor, but only on the main rank, which writes the state.
StepCursor TrainingCheckpoints::cursor_of_all_ranks(const StepCursor& own) const {
  const std::string text = mesh_.tp().is_main_rank() ? streams_to_text(own.streams) : "";
  const std::vector<std::string> texts = mesh_.world().all_gather_strings(text);
  StepCursor all = own;
  if (!mesh_.world().is_main_rank()) return all;
  for (const std::string& of_rank : texts)
    if (!of_rank.empty()) all.streams.merge(streams_from_text(of_rank));
  return all;
}

void TrainingCheckpoints::start_save(const std::string& root, const TrainState& state, const std::string& config_text,
                                     std::function<void(const std::string&)> after_commit, bool yields) {
  const ErrorFrame frame(fmt::format("while saving step {}; the last complete checkpoint is kept", state.step));
  TrainState whole = state;
  whole.cursor = cursor_of_all_ranks(state.cursor);
  const ParamStore& params = trainer_.replica().params();
  if (!params.divided()) trainer_.gather_weights();
  saver_.start(trainer_.replica().context(), root,
               {.step = state.step,
                .params = params,
                .buffers = trainer_.states(),
                .state = whole.to_json(),
                .extras = {.config = config_text, .files = data_.tokenizers()}},
               std::move(after_commit), yields);
}

TrainState TrainingCheckpoints::resume(const std::string& checkpoint, std::vector<std::string>& changes) {
  require(!saver_.in_progress(), ErrorKind::internal, "a checkpoint cannot be loaded while another one is being saved");
  TrainState state = read_state(checkpoint);
  all_or_none(mesh_.world(), [&] {
    require(state.cursor.num_streams > 0, ErrorKind::checkpoint, "the checkpoint lacks the run's position in the data");
    changes = data_.resume(state.data, state.cursor);
  });
  load_base(trainer_.replica(), checkpoint);
  trainer_.resume(checkpoint, state, /*verified=*/mesh_.world().is_main_rank());  // verified in find_latest_checkpoint
  return state;
}

void TrainingCheckpoints::go_back_to(const std::string& checkpoint) {
  trainer_.load(checkpoint, read_state(checkpoint), /*verified=*/false);
}

// Only the main rank reads the positions of all streams. Each rank keeps only the streams that it will plan.
TrainState TrainingCheckpoints::read_state(const std::string& checkpoint) const {
  Communicator& world = mesh_.world();
  const std::string text = all_or_none(world, [&]() -> std::string {
    if (!world.is_main_rank()) return "";
    return state_to_text(TrainState::from_json(read_checkpoint_state(checkpoint), checkpoint));
  });
  return state_from_text(world.broadcast_string(text, /*root=*/0), blocks_, mesh_.dp().rank(), mesh_.dp().size());
}

}  // namespace weft
