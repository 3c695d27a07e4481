// data/packing/pair_tags.h: checks the tags of a text's pairs before any text is encoded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/packing/pair_text.h"

namespace weft {

class PairTags {
 public:
  // `source` and `target` are the tags of each side's tokenizer, or the tags that will be reserved in it.
  PairTags(const PairFiles& files, std::vector<std::string> source, std::vector<std::string> target);

  // Throws a data Error with file and line for a tag that the tokenizer lacks, or a usage Error if an option gave the
  // tag. REQUIRES: pairs come in the order of the text.
  void check(const TextPair& pair);

 private:
  struct Side {
    const char* option;
    std::vector<std::string> known;
    std::string last;  // the last text that was checked
  };
  void check(const std::string& tags, Side& side) const;

  std::string file_;  // the file with columns
  int64_t line_ = 0;
  Side source_, target_;
};

}  // namespace weft
