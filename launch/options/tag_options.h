// launch/options/tag_options.h: the tags of all lines of `weft translate`, `weft evaluate` and `weft score`.
#pragma once

#include <string>

#include "data/tags.h"
#include "launch/options/options.h"
#include "trainer/inference/translator.h"

namespace weft {

struct TagRequest {
  std::string tag, target_tag;  // names with spaces between them

  void add_to(Options& options) {
    options.add("tag", tag, "tags in front of every source, such as '<2de>'; see docs/tags.md");
    options.add("target-tag", target_tag, "tags with which every translation begins; they are not in its text");
  }
  TaggedLine line(const std::string& text) const {
    return {.text = text, .tag = tag, .target_tag = target_tag, .prefix = ""};
  }
  void check(const Translator& translator) const {  // a usage Error for a tag that the model's tokenizers lack
    check_tags(tag, translator.source_tokenizer(), "--tag");
    check_tags(target_tag, translator.target_tokenizer(), "--target-tag");
  }
};

}  // namespace weft
