// trainer/checkpoint/rank_files.h: copies the tensors of a rank's checkpoint files, and then writes the files.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "trainer/checkpoint/checked_file.h"
#include "trainer/checkpoint/file_layout.h"

namespace weft {

class RankFiles {
 public:
  // Gathers each tensor, and copies the tensors that this rank writes. On a CPU, copy() later copies the tensors that
  // are not split over ranks. All ranks of `tp` pass the same files, and all ranks of dp pass the same `states`, which
  // contain the tensors.
  RankFiles(Context& ctx, Communicator& tp, int own_rank, const std::vector<CheckpointFile>& files,
            const std::vector<FlatState>& states);

  void add_text(const std::string& file, const std::string& text) { texts_[file] = text; }

  void copy();  // copies the remaining tensors, after which the model's memory may change
  // Writes new files with fsync, and frees each tensor's copy. If a value is not finite, throws an Error of kind
  // diverged before it creates the first file. Returns early, without the remaining files, if `given_up` becomes true.
  std::map<std::string, FileDigest> write(const std::string& folder, const std::atomic<bool>& given_up);

 private:
  struct Staged {
    std::string name;
    Shape shape;                  // global
    const float* live = nullptr;  // in the model's memory, until copy()
    std::vector<float> values;
  };
  struct File {
    std::string name;
    std::vector<Staged> tensors;
  };

  std::vector<File> files_;
  std::map<std::string, std::string> texts_;
};

}  // namespace weft
