// launch/commands/inspect.h: what `weft inspect` can show, one function a kind of thing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/run_config.h"

namespace weft {

void inspect_corpus(const std::string& folder, int64_t num_pairs);  // its manifest; the first pairs as text
void inspect_shard(const std::string& file, int64_t num_pairs);     // the same of one shard of a corpus
void inspect_checkpoint(const std::string& folder);                 // step, files (digests verified), tensors, config
void inspect_run(const std::string& folder, bool chart, const std::string& svg);  // what its log and checkpoints say

struct ModelView {
  int64_t vocabulary = 0;  // where neither the file nor its corpus says; 0 = not given
  int64_t tp = 1;          // ranks that the model is split over
  int64_t length = 30;     // tokens of a sentence, for the operations of attention
  DeviceChoice device = DeviceChoice::automatic;
};
// Every layer with shapes, on the whole and on a rank, and counts; operations a token; memory. Nothing is allocated.
void inspect_model(const std::string& path, const ModelView& view);

// `weft inspect model` and `weft inspect positions`: what follows those words.
int run_inspect_model(const std::vector<std::string>& args);
int run_inspect_positions(const std::vector<std::string>& args);

// The configuration at a path: a .cfg file, or a checkpoint's or run's folder; then also which checkpoint.
struct FoundConfig {
  RunConfig config;
  std::string checkpoint;  // step folder; empty: a .cfg file
};
FoundConfig find_config(const std::string& path);

}  // namespace weft
