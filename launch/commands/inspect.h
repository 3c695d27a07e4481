// launch/commands/inspect.h: declares the functions of `weft inspect`, one per kind of file or folder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"
#include "trainer/report/log_curves.h"

namespace weft {

void inspect_corpus(const std::string& folder, int64_t num_pairs);  // shows the manifest, and the first pairs as text
void inspect_shard(const std::string& file, int64_t num_pairs);     // shows the same for one shard of a corpus
void inspect_checkpoint(const std::string& folder);  // shows step, files (digests verified), tensors and config

struct RunView {
  bool chart = false;
  std::string curve;  // one or two drawable_names() to draw, separated by a comma; empty: loss and BLEU
  CurveAxis over = CurveAxis::step;
  std::string html, tensorboard;  // a file and a folder to write; empty: none
};
void inspect_run(const std::string& folder, const RunView& view);                        // shows log and checkpoints
void write_views_of_runs(const std::vector<std::string>& folders, const RunView& view);  // writes html and tensorboard

struct ModelView {
  int64_t vocabulary = 0;  // used if neither the file nor its corpus defines the size; 0 = not given
  int64_t tp = 1;          // tensor-parallel ranks
  int64_t length = 30;     // tokens per sentence, for attention's FLOPs
  DeviceChoice device = DeviceChoice::automatic;
};
// Prints all layers with shapes (complete and per rank), parameters, FLOPs and memory, without allocating the model.
void inspect_model(const std::string& path, const ModelView& view);

}  // namespace weft
