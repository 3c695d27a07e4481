// data/packing/pair_encoder.cpp: encodes chunks of lines in parallel tasks, and takes the results in order.
#include "data/packing/pair_encoder.h"

#include <optional>
#include <utility>
#include <vector>

#include "data/ordered_tasks.h"
#include "data/packing/document_joiner.h"
#include "data/tags.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

struct Chunk {
  int64_t first = 0;  // line number of the first pair
  std::vector<TextPair> pairs;
  TextPair before;  // the pair before the first one; empty at the start of the text
};

struct EncodedPair {
  int64_t number = 0;
  std::string target;  // raw; only for EncodeOptions::on_target
  bool begins_document = false;
  PairIds ids;
};

struct EncodedChunk {
  std::vector<EncodedPair> pairs;
  EncodeCounts counts;
};

Chunk read_chunk(PairText& text, TextPair before) {
  const int64_t first = text.num_pairs();
  return {.first = first,
          .pairs = read_some_pairs([&](TextPair& pair) { return text.next(pair); }),
          .before = std::move(before)};
}

int64_t count_words(const std::string& line) {
  int64_t words = 0;
  bool inside = false;
  for (const char c : line) {
    const bool space = c == ' ' || c == '\t';
    words += !space && !inside;
    inside = !space;
  }
  return words;
}

bool is_border(const TextPair& pair) { return trim(pair.source).empty() && trim(pair.target).empty(); }

EncodeCounts counts_of(const EncodeOptions& options) {
  EncodeCounts counts;
  counts.dropped = Drops(options.show_dropped);
  counts.source.changed = counts.target.changed = TextChanges(options.show_changed);
  return counts;
}

void count(const std::string& line, const std::vector<int32_t>& ids, const Tokenizer& tokenizer, int64_t number,
           SideCounts& counts) {
  if (const std::optional<ChangedText> changed = changed_text(line, number, ids, tokenizer))
    counts.changed.add(changed->change, *changed);
  counts.words += count_words(line);
  counts.tokens += static_cast<int64_t>(ids.size());
  for (const int32_t id : ids) {
    counts.unknown += id == 0;
    counts.bytes += tokenizer.is_byte(id);
  }
}

class ChunkEncoder {
 public:
  ChunkEncoder(const EncodeOptions& options, const Tokenizer& source, const Tokenizer& target)
      : options_(options), filter_(options.filter), source_(source), target_(target) {}

  EncodedChunk encode(const Chunk& chunk) const {
    EncodedChunk out;
    out.counts = counts_of(options_);
    out.pairs.reserve(chunk.pairs.size());
    for (size_t i = 0; i < chunk.pairs.size(); ++i) {
      const int64_t number = chunk.first + static_cast<int64_t>(i);
      PairIds pair;
      ++out.counts.read;
      if (options_.documents > 0 && is_border(chunk.pairs[i])) {
        ++out.counts.borders;
        continue;
      }
      if (const std::optional<Fault> fault = encode(chunk.pairs[i], number, pair))
        out.counts.dropped.add(*fault, {number, chunk.pairs[i]});
      else if (options_.variants == nullptr)
        keep(chunk.pairs[i], number, std::move(pair), out);
      else
        keep_variants(chunk.pairs[i], i == 0 ? chunk.before : chunk.pairs[i - 1], number, std::move(pair), out);
    }
    return out;
  }

 private:
  std::optional<Fault> encode(const TextPair& text, int64_t number, PairIds& pair) const {
    if (const std::optional<Fault> fault = fault_of_text(text, number)) return fault;
    pair = {.source = encode_with_tags(text.tag, text.source, source_),
            .target = encode_with_tags(text.target_tag, text.target, target_),
            .weight = text.weight,
            .score = text.score};
    if (!has_text(pair.source, source_) || !has_text(pair.target, target_)) return Fault::empty;
    return filter_.of_tokens(pair);
  }

  // Returns true if a side contains more than tags. Normalization may have removed all its characters.
  static bool has_text(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
    return ids.size() > num_leading_tags(ids, tokenizer);
  }

  std::optional<Fault> fault_of_text(const TextPair& text, int64_t number) const {
    if (const std::optional<Fault> fault = filter_.of_text(text, number)) return fault;
    if (!options_.duplicates.empty() && options_.duplicates[static_cast<size_t>(number)]) return Fault::duplicate;
    return std::nullopt;
  }

  bool fits(const PairIds& pair) const {
    const size_t limit = static_cast<size_t>(options_.filter.max_length);
    const auto fits = [&](const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
      return has_text(ids, tokenizer) && ids.size() <= limit;
    };
    return fits(pair.source, source_) && fits(pair.target, target_);
  }

  void keep_variants(const TextPair& text, const TextPair& before, int64_t number, PairIds plain,
                     EncodedChunk& out) const {
    const bool was_cut = !fits(plain);
    const TextPair* joined = number > 0 && before.tag == text.tag && before.target_tag == text.target_tag &&
                                     !fault_of_text(before, number - 1)
                                 ? &before
                                 : nullptr;
    keep(text, number, plain, out);
    const PairIds kept = std::move(out.pairs.back().ids);
    out.pairs.pop_back();
    const PairVariants::PlainPair prepared = options_.variants->prepare(text, plain);
    for (int64_t v = 0; v < options_.variants->count(); ++v) {
      PairIds variant = was_cut ? kept : options_.variants->make(prepared, joined, number, v);
      if (!fits(variant)) {
        variant = kept;
        ++out.counts.plain_variants;
      }
      out.pairs.push_back({.number = number, .ids = std::move(variant)});
    }
  }

  void keep(const TextPair& text, int64_t number, PairIds pair, EncodedChunk& out) const {
    const size_t limit = static_cast<size_t>(options_.filter.max_length);
    ++out.counts.kept;
    count(text.source, pair.source, source_, number, out.counts.source);
    count(text.target, pair.target, target_, number, out.counts.target);
    out.counts.cut += pair.source.size() > limit || pair.target.size() > limit;
    if (pair.source.size() > limit) pair.source.resize(limit);
    if (pair.target.size() > limit) pair.target.resize(limit);
    out.pairs.push_back({.number = number, .begins_document = text.begins_document, .ids = std::move(pair)});
    if (options_.on_target) out.pairs.back().target = text.raw_target.empty() ? text.target : text.raw_target;
  }

  const EncodeOptions& options_;
  PairFilter filter_;
  const Tokenizer &source_, &target_;
};

void add_side(SideCounts& sum, SideCounts&& part) {
  sum.words += part.words;
  sum.tokens += part.tokens;
  sum.unknown += part.unknown;
  sum.bytes += part.bytes;
  sum.changed.add(std::move(part.changed));
}

// Takes encoded chunks in order, joins their pairs if requested, and passes the pairs to the sink.
class ChunkSink {
 public:
  ChunkSink(const EncodeOptions& options, const Tokenizer& source, const Tokenizer& target,
            const std::function<void(int64_t, const PairIds&)>& sink)
      : sink_(sink), on_target_(options.on_target) {
    counts_ = counts_of(options);
    if (options.documents > 0)
      joiner_.emplace(options.documents, source, target,
                      [this](int64_t number, const PairIds& pair) { hand_over(number, pair); });
  }
  ChunkSink(const ChunkSink&) = delete;
  ChunkSink& operator=(const ChunkSink&) = delete;

  void take(EncodedChunk chunk) {
    for (const EncodedPair& pair : chunk.pairs) {
      if (on_target_) on_target_(pair.target);
      if (joiner_)
        joiner_->add(pair.number, pair.begins_document, pair.ids);
      else
        hand_over(pair.number, pair.ids);
    }
    counts_.add(std::move(chunk.counts));
  }

  const EncodeCounts& counts() const { return counts_; }
  EncodeCounts finish() {
    if (joiner_) joiner_->finish();
    return std::move(counts_);
  }

 private:
  void hand_over(int64_t number, const PairIds& pair) {
    ++counts_.packed;
    sink_(number, pair);
  }

  const std::function<void(int64_t, const PairIds&)>& sink_;
  const std::function<void(std::string_view)>& on_target_;
  EncodeCounts counts_;
  std::optional<DocumentJoiner> joiner_;
};

}  // namespace

void EncodeCounts::add(EncodeCounts&& later) {
  read += later.read;
  kept += later.kept;
  cut += later.cut;
  plain_variants += later.plain_variants;
  borders += later.borders;
  packed += later.packed;
  dropped.add(std::move(later.dropped));
  add_side(source, std::move(later.source));
  add_side(target, std::move(later.target));
}

EncodeCounts encode_pairs(const EncodeOptions& options, const Tokenizer& source, const Tokenizer& target,
                          const std::function<void(int64_t, const PairIds&)>& sink,
                          const std::function<void(int64_t)>& done) {
  PairText text(options.text);
  const ChunkEncoder encoder(options, source, target);
  ChunkSink encoded(options, source, target, sink);
  TextPair last;
  run_in_order(
      options.threads,
      [&]() -> std::optional<Chunk> {
        Chunk chunk = read_chunk(text, last);
        if (chunk.pairs.empty()) return std::nullopt;
        if (options.variants != nullptr) last = chunk.pairs.back();
        return chunk;
      },
      [&](const Chunk& chunk) { return encoder.encode(chunk); },
      [&](EncodedChunk chunk) {
        encoded.take(std::move(chunk));
        done(encoded.counts().read);
      });
  return encoded.finish();
}

}  // namespace weft
