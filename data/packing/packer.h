// data/packing/packer.h: packs a parallel text as a corpus (docs/formats/shard-format.md), for `weft pack`.
//
// The text is read twice: first to check it, count it and sample lines for the tokenizer, then to encode it on all
// cores. Pairs are shuffled globally on disk. Memory does not grow with the corpus. The same input and options give the
// same bytes for any number of threads. After an Error, no part of the output remains.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "data/packing/pack_folder.h"
#include "data/packing/pair_encoder.h"
#include "data/shards/manifest.h"
#include "data/subword/normalization.h"

namespace weft {

struct PackOptions {
  PairFiles text;
  std::string output;
  int64_t vocab_size = 8000;
  double character_coverage = 0.9999;
  std::string reserve_tags;            // tags of the tokenizer to be trained: "<2de>,<2fr>" (data/tags.h)
  int64_t training_lines = 1'000'000;  // lines sampled for the tokenizer, half from each side
  bool separate_vocabularies = false;
  Normalization source_normalization = Normalization::nmt_nfkc;  // of the tokenizer to be trained
  Normalization target_normalization = Normalization::identity;
  std::string tokenizer;                           // an existing joint model
  std::string source_tokenizer, target_tokenizer;  // existing models, one per side
  FilterOptions filter;
  VariantOptions variants;
  int64_t documents = 0;     // max tokens per side of joined sentences; 0 = sentences are not joined
  int64_t show_dropped = 0;  // pairs shown in the summary per fault
  int64_t show_changed = 0;  // texts shown in the summary per side and kind of change
  int64_t shard_pairs = 100'000;
  uint64_t seed = 1;
  bool shuffle = true;
  ExistingCorpus existing = ExistingCorpus::refuse;
  int threads = 1;
};

struct PackSummary {
  EncodeCounts counts;
  VariantOptions variants;  // an append uses the corpus's variants
  Manifest manifest;
  int64_t num_added_pairs = 0, num_added_shards = 0;  // without --append, the manifest's totals
  int64_t bytes = 0;                                  // size of the added shards
  bool removed_references = false;                    // an append does not keep the raw targets (references.h)
};

// pack() calls this function on its own thread, with the phase ("checking", "training the tokenizer", "encoding",
// "shuffling"), the work done and the total.
using PackProgress = std::function<void(const char* phase, int64_t done, int64_t total)>;

PackSummary pack(const PackOptions& options, const PackProgress& progress);

}  // namespace weft
