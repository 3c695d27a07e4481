// launch/inspect.h: what `weft inspect` can show, one function a kind of thing.
#pragma once

#include <cstdint>
#include <string>

#include "parallel/param_store.h"

namespace weft {

void inspect_corpus(const std::string& folder, int64_t num_pairs);  // its manifest; the first pairs as text
void inspect_shard(const std::string& file, int64_t num_pairs);     // the same of one shard of a corpus
void inspect_checkpoint(const std::string& folder);                 // step, files (digests verified), tensors, config
void inspect_run(const std::string& folder, bool chart);            // what its log and checkpoints say
// Every layer with shapes and counts; memory. `vocabulary` where neither the file nor its corpus says; 0 = not given.
void inspect_model(const std::string& cfg_file, int64_t vocabulary);

}  // namespace weft
