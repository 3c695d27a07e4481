// trainer/checkpoint/checkpoint_saver.h: saves checkpoints while training continues.
//
// Every rank writes its share of the files (file_layout.h) in a separate thread. The thread first copies the tensors
// that the rank writes. Parameters and moments change only in the optimizer's update, so the thread copies during the
// next step's forward and backward pass, and only the update waits for the copy. When all ranks have written their
// files, a thread of the main rank commits the folder. The totals of each step tell all ranks whether every rank has
// finished a phase, so all ranks call advance() after the same step.
//
// The threads call neither MPI nor CUDA, so start() copies tensors that are split over ranks or in a GPU's memory.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "parallel/mesh.h"
#include "trainer/checkpoint/checkpoint_draft.h"
#include "trainer/checkpoint/file_layout.h"

namespace weft {

struct CheckpointExtras {                         // small files that make a checkpoint self-contained
  std::string config;                             // text of config.cfg
  std::map<std::string, std::string> files = {};  // the tokenizer models: name -> contents
};

struct CheckpointContents {
  int64_t step;
  const ParamStore& params;
  const std::vector<FlatState>& buffers;
  const nlohmann::json& state;  // only rank 0's state and extras are used
  const CheckpointExtras& extras;
};

class CheckpointSaver {
 public:
  static constexpr int64_t kSmallestShare = 64 << 20;  // minimum bytes per writer

  explicit CheckpointSaver(const Mesh& mesh, int64_t smallest_share = kSmallestShare)
      : mesh_(mesh), smallest_share_(smallest_share) {}
  ~CheckpointSaver() { given_up_ = true; }  // cancels a save in progress and joins its threads
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // Starts a checkpoint under `root`. All ranks call this function. The main rank's thread calls `after_commit` with
  // the folder. With `yields`, the writing threads have a lower priority than computation. If the step's folder already
  // exists, renames it to step-N.damaged-PID if it is damaged, and otherwise throws an Error of kind io. REQUIRES: the
  // parent of `root` exists, and no save is in progress.
  void start(Context& ctx, const std::string& root, const CheckpointContents& contents,
             std::function<void(const std::string&)> after_commit = {}, bool yields = false);

  void wait_until_copied() const { copied_.wait(false); }  // must be called before values or moments change
  bool in_progress() const { return phase_ != Phase::none; }
  bool is_ready() const;  // true if this rank's part of the phase has ended, so advance() does not wait for it

  // Waits until all ranks have finished the phase, and returns the folder after the last phase. All ranks call it. If
  // one rank fails, all ranks throw its Error, the save ends and the temporary folder is removed. Older checkpoints do
  // not change. The Error's kind is diverged if a value to be written is not finite.
  std::optional<std::string> advance();
  std::string finish();  // completes all remaining phases

 private:
  enum class Phase { none, writing, committing };
  using Digests = std::map<std::string, FileDigest>;

  void commit(const std::vector<std::string>& digests_of_ranks);

  const Mesh& mesh_;
  const int64_t smallest_share_;
  Phase phase_ = Phase::none;
  std::string folder_;
  std::vector<std::string> frames_;       // the caller's error frames, used in the threads
  std::optional<CheckpointDraft> draft_;  // on the main rank
  std::function<void(const std::string&)> after_commit_;
  std::atomic<bool> copied_ = true, given_up_ = false;
  std::future<Digests> written_;  // last members, because their destructors wait for the threads
  std::future<void> committed_;   // on the main rank
};

}  // namespace weft
