// data/packing/pair_tags.cpp: looks up the names of tags.
#include "data/packing/pair_tags.h"

#include <algorithm>
#include <utility>

#include "data/tags.h"
#include "tensor/error.h"

namespace weft {

PairTags::PairTags(const PairFiles& files, std::vector<std::string> source, std::vector<std::string> target)
    : file_(files.tsv),
      source_{.option = files.tag.empty() ? "" : "--tag", .known = std::move(source), .last = ""},
      target_{.option = files.target_tag.empty() ? "" : "--target-tag", .known = std::move(target), .last = ""} {}

void PairTags::check(const TextPair& pair) {
  ++line_;
  if (pair.tag != source_.last) check(pair.tag, source_);
  if (pair.target_tag != target_.last) check(pair.target_tag, target_);
}

void PairTags::check(const std::string& tags, Side& side) const {
  for (const std::string& tag : split_tags(tags)) {
    if (std::ranges::find(side.known, tag) != side.known.end()) continue;
    const bool is_option = side.option[0] != '\0';
    fail(is_option ? ErrorKind::usage : ErrorKind::data,
         fmt::format("{}: {}", is_option ? side.option : fmt::format("{}, line {}", file_, line_),
                     no_such_tag(tag, side.known)));
  }
  side.last = tags;
}

}  // namespace weft
