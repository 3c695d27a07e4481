// launch/commands/inspect.h: the functions behind `weft inspect`, one for each kind of file or folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"
#include "trainer/report/log_curves.h"

namespace weft {

void inspect_corpus(const std::string& folder, int64_t num_pairs);  // its manifest; the first pairs as text
void inspect_shard(const std::string& file, int64_t num_pairs);     // the same of one shard of a corpus
void inspect_checkpoint(const std::string& folder);                 // step, files (digests verified), tensors, config

struct RunView {
  bool chart = false;
  std::string curve;  // that the chart draws: of drawable_numbers(), one or two with a comma; empty: loss and BLEU
  CurveAxis over = CurveAxis::step;
  std::string html, tensorboard;  // a file and a folder to write; empty: none
};
void inspect_run(const std::string& folder, const RunView& view);                        // its log and checkpoints
void write_views_of_runs(const std::vector<std::string>& folders, const RunView& view);  // the files, of all together

struct ModelView {
  int64_t vocabulary = 0;  // used if neither the file nor its corpus has it; 0 = not given
  int64_t tp = 1;          // tensor-parallel ranks
  int64_t length = 30;     // tokens of a sentence, for attention's FLOPs
  DeviceChoice device = DeviceChoice::automatic;
};
// Prints every layer with its shapes (whole and for a rank) and counts, operations for each token, and
// memory. Allocates nothing.
void inspect_model(const std::string& path, const ModelView& view);

}  // namespace weft
