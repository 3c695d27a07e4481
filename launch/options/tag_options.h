// launch/options/tag_options.h: adds options that put tags on all lines of `weft translate`, `evaluate` and `score`.
#pragma once

#include <string>

#include "data/tags.h"
#include "launch/options/options.h"
#include "trainer/inference/translator.h"

namespace weft {

struct TagRequest {
  std::string tag, target_tag;  // names, separated by spaces

  void add_to(Options& options) {
    options.add("tag", tag, "tags to put before every source sentence, for example '<2de>'; see docs/tags.md");
    options.add("target-tag", target_tag, "tags with which every translation starts; they are not printed");
  }
  void add_reverse_to(Options& options) {
    options.add("reverse-tag", tag, "the same as --tag, for the model of --reverse");
    options.add("reverse-target-tag", target_tag, "the same as --target-tag, for the model of --reverse");
  }
  TaggedLine line(const std::string& text) const {
    return {.text = text, .tag = tag, .target_tag = target_tag, .prefix = ""};
  }
  // Error of kind usage if the model's tokenizers lack a tag. `prefix` is that of the options' names: "--",
  // "--reverse-".
  void check(const Tokenizer& source, const Tokenizer& target, const std::string& prefix = "--") const {
    check_tags(tag, source, prefix + "tag");
    check_tags(target_tag, target, prefix + "target-tag");
  }
};

}  // namespace weft
