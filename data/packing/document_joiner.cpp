// data/packing/document_joiner.cpp: extends a pair until the next pair does not fit.
#include "data/packing/document_joiner.h"

#include <algorithm>
#include <utility>

#include "data/tags.h"

namespace weft {
namespace {

using Ids = std::vector<int32_t>;

std::ptrdiff_t num_tags(const Ids& ids, const Tokenizer& tokenizer) {
  return static_cast<std::ptrdiff_t>(num_leading_tags(ids, tokenizer));
}

bool same_tags(const Ids& a, const Ids& b, const Tokenizer& tokenizer) {
  const std::ptrdiff_t count = num_tags(a, tokenizer);
  return count == num_tags(b, tokenizer) && std::equal(a.begin(), a.begin() + count, b.begin());
}

int64_t joined_size(const Ids& joined, const Ids& next, const Tokenizer& tokenizer) {
  return std::ssize(joined) + 1 + std::ssize(next) - num_tags(next, tokenizer);
}

void join(Ids& joined, int32_t separator, const Ids& next, const Tokenizer& tokenizer) {
  joined.push_back(separator);
  joined.insert(joined.end(), next.begin() + num_tags(next, tokenizer), next.end());
}

}  // namespace

DocumentJoiner::DocumentJoiner(int64_t longest, const Tokenizer& source, const Tokenizer& target, Sink sink)
    : longest_(longest),
      source_(source),
      target_(target),
      source_separator_(tag_ids(kSeparator, source)[0]),
      target_separator_(tag_ids(kSeparator, target)[0]),
      sink_(std::move(sink)) {}

bool DocumentJoiner::fits(const PairIds& pair) const {
  return same_tags(joined_.source, pair.source, source_) && same_tags(joined_.target, pair.target, target_) &&
         joined_size(joined_.source, pair.source, source_) <= longest_ &&
         joined_size(joined_.target, pair.target, target_) <= longest_;
}

void DocumentJoiner::add(int64_t number, bool begins_document, const PairIds& pair) {
  if (count_ > 0 && (begins_document || number != last_ + 1 || !fits(pair))) finish();
  last_ = number;
  if (count_++ == 0) {
    joined_ = pair;
    first_ = number;
    return;
  }
  join(joined_.source, source_separator_, pair.source, source_);
  join(joined_.target, target_separator_, pair.target, target_);
  joined_.weight += (pair.weight - joined_.weight) / static_cast<float>(count_);
  joined_.score += (pair.score - joined_.score) / static_cast<float>(count_);
}

void DocumentJoiner::finish() {
  if (count_ > 0) sink_(first_, joined_);
  count_ = 0;
}

}  // namespace weft
