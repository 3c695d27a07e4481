// launch/translation_job.h: translates a text line by line, for `weft translate`.
//
// Lines are translated in chunks, so that memory does not grow with the input. A chunk contains the lines that can be
// read without waiting, so that a pipe gets its answers immediately. Rank 0 reads and writes. Each dp rank translates a
// share of the sentences of a chunk. If the output is a file, each chunk is made durable, so that a command that was
// killed continues after its last chunk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/input_lines.h"
#include "launch/line_output.h"
#include "launch/open_model.h"
#include "launch/options/search_options.h"
#include "launch/options/tag_options.h"
#include "launch/reports/alignment_files.h"
#include "launch/tagged_lines.h"

namespace weft {

struct TranslateRequest {
  ModelRequest model;
  SearchRequest search;
  int64_t batch = 0;
  bool scores = false, json = false;
  TagRequest tags;
  std::string target_prefix, columns;
  int64_t documents = 0;
  AlignmentRequest alignment;
  std::vector<std::string> input;
  std::string output;
  BadLines bad_lines = BadLines::error;
  TaggedLines lines() const { return TaggedLines(tags, target_prefix, columns); }
};

// Input and output of a job; only rank 0 has them.
struct TranslationStreams {
  std::optional<InputLines> input;
  std::optional<LineOutput> output;
};

// Translates the lines that earlier calls have not finished, and then prints speed, cut lines and bad lines to standard
// error. Several models form an ensemble; alignments are those of the first one. Throws a usage Error if the models
// cannot do what `request` asks for. REQUIRES: all ranks of the world call it.
void translate_lines(std::vector<LoadedModel>& models, const TranslateRequest& request, TranslationStreams& streams);

}  // namespace weft
