// trainer/checkpoint/checkpoint_saver.h: saves checkpoints while training goes on.
//
// Every rank writes some of the files (file_layout.h), in a thread of its own. The thread first copies what this
// rank writes. Values and moments change only when the optimizer updates them, so the copy is made beside the next
// step's forward and backward pass, and only the update waits for it. When all ranks have written their files, the
// main rank commits the folder, in a thread again. All ranks learn from a step's totals that a phase has ended
// everywhere, and call advance() after the same step.
//
// A thread calls no MPI and no CUDA: what tp ranks hold in slices, or a GPU in its memory, is copied by start().
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

struct CheckpointExtras {                         // small files that make a checkpoint usable on its own
  std::string config;                             // text of config.cfg
  std::map<std::string, std::string> files = {};  // name -> contents: the tokenizer models
};

struct CheckpointContents {
  int64_t step;
  const ParamStore& params;
  const std::vector<FlatState>& buffers;
  const nlohmann::json& state;  // of rank 0, and so are the extras
  const CheckpointExtras& extras;
};

class CheckpointSaver {
 public:
  static constexpr int64_t kSmallestShare = 64 << 20;  // bytes a writer has at least

  explicit CheckpointSaver(const Mesh& mesh, int64_t smallest_share = kSmallestShare)
      : mesh_(mesh), smallest_share_(smallest_share) {}
  ~CheckpointSaver() { given_up_ = true; }  // gives up a save that is in progress, and joins its threads
  CheckpointSaver(const CheckpointSaver&) = delete;
  CheckpointSaver& operator=(const CheckpointSaver&) = delete;

  // All ranks call it, none with a save in progress. Begins a checkpoint under `root`. `after_commit` runs in the main
  // rank's thread, with the folder. With `yields`, the threads that write give way to computation. A whole folder of
  // this step is never overwritten: an Error of kind io. A damaged one is renamed to step-N.damaged-PID.
  void start(Context& ctx, const std::string& root, const CheckpointContents& contents,
             std::function<void(const std::string&)> after_commit = {}, bool yields = false);

  void wait_until_copied() const { copied_.wait(false); }  // before values or moments change
  bool in_progress() const { return phase_ != Phase::none; }
  bool is_ready() const;  // for advance(): this rank's part of the phase has ended. Without a save: false

  // All ranks call it. Waits for the phase, and agrees on its outcome; returns the folder after the last phase. A
  // failure on one rank is thrown on all, and ends the save; the temporary folder is then removed, and older
  // checkpoints are untouched. Kind diverged: a value to be written is not finite.
  std::optional<std::string> advance();
  std::string finish();  // all phases that are left

 private:
  enum class Phase { none, writing, committing };
  using Digests = std::map<std::string, FileDigest>;

  void commit(const std::vector<std::string>& digests_of_ranks);

  const Mesh& mesh_;
  const int64_t smallest_share_;
  Phase phase_ = Phase::none;
  std::string folder_;
  std::vector<std::string> frames_;       // of the caller's errors, for the threads
  std::optional<CheckpointDraft> draft_;  // of the main rank
  std::function<void(const std::string&)> after_commit_;
  std::atomic<bool> copied_ = true, given_up_ = false;
  std::future<Digests> written_;  // the last members: their destructors wait for the threads
  std::future<void> committed_;   // of the main rank
};

}  // namespace weft
