// launch/reports/pack_summary.cpp: prints a table of counts, and the texts of dropped pairs.
#include "launch/reports/pack_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "launch/reports/shown_line.h"
#include "tensor/error.h"
#include "trainer/display/units.h"

namespace weft {
namespace {

std::string share(int64_t part, int64_t whole) {
  return fmt::format("{:.3f} %", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

void print_row(const std::string& what, const std::string& source, const std::string& target = "") {
  fmt::print("  {:<38} {:>14} {:>14}\n", what, source, target);
}

void print_pairs(const EncodeCounts& c, const PackOptions& options) {
  print_row("pairs read", with_commas(c.read));
  for (size_t i = 0; i < kNumFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (fault == Fault::too_long && options.filter.over_long == OverLong::cut)
      print_row("cut, " + description(fault, options.filter), with_commas(c.cut));
    else if (is_active(fault, options.filter))
      print_row("dropped, " + description(fault, options.filter), with_commas(c.dropped.count(fault)));
  }
  if (options.documents > 0) print_row("empty lines between documents", with_commas(c.borders));
  print_row("pairs kept", with_commas(c.kept));
  if (options.documents > 0) print_row("pairs after joining", with_commas(c.packed));
}

void print_variants(const PackSummary& summary) {
  const Variants variants = variants_of(summary.variants);
  if (variants.count == 0) return;
  fmt::print("  {:<38} {:>14}\n", "variants per pair", variants.count);
  for (const auto& [option, value] : variants.made_by) fmt::print("    {:<14} {}\n", option, value);
  fmt::print("  {:<38} {:>14}\n", "too long, replaced by the plain pair", with_commas(summary.counts.plain_variants));
}

void print_tokens(const Manifest& m, const EncodeCounts& c) {
  const auto each = [&](const char* what, auto value) { print_row(what, value(c.source), value(c.target)); };
  print_row("", "source", "target");
  print_row(m.joint_vocabulary ? "vocabulary (joint)" : "vocabulary", with_commas(m.source_vocabulary),
            with_commas(m.target_vocabulary));
  print_row(m.variants.count > 0 ? "tokens of all variants" : "tokens", with_commas(m.source_tokens),
            with_commas(m.target_tokens));
  print_row("longest sentence, tokens", with_commas(m.longest_source), with_commas(m.longest_target));
  each("tokens per word", [](const SideCounts& s) {
    return fmt::format("{:.2f}", s.words == 0 ? 0.0 : static_cast<double>(s.tokens) / static_cast<double>(s.words));
  });
  each("bytes of out-of-vocabulary characters", [](const SideCounts& s) { return share(s.bytes, s.tokens); });
  each("unknown tokens", [](const SideCounts& s) { return share(s.unknown, s.tokens); });
  for (size_t i = 0; i < kNumTextChanges; ++i) {
    const auto change = static_cast<TextChange>(i);
    if (c.source.changed.count(change) + c.target.changed.count(change) == 0) continue;
    each(fmt::format("changed by tokens, {}", description(change)).c_str(),
         [&](const SideCounts& s) { return share(s.changed.count(change), c.kept); });
  }
}

void print_output(const PackSummary& summary, const std::string& folder, double seconds) {
  const Manifest& m = summary.manifest;
  const bool extended = summary.num_added_shards < std::ssize(m.shards);
  const auto pairs_read = static_cast<double>(summary.counts.read);
  print_row(extended ? "shards added" : "shards", with_commas(summary.num_added_shards));
  print_row("bytes", with_commas(summary.bytes));
  print_row("seconds", fmt::format("{:.1f}", seconds));
  print_row("pairs per second", with_commas(static_cast<int64_t>(pairs_read / std::max(seconds, 1e-3))));
  if (extended)
    fmt::print("  added to {}, which now contains {} pairs in {} shards\n", folder, with_commas(m.num_pairs),
               with_commas(std::ssize(m.shards)));
  else
    fmt::print("  packed into {}\n", folder);
  fmt::print("  next: weft pack ... --tokenizer {0} for held-out text, weft train --data.train={0} ...\n", folder);
}

void warn_of_unknown_tokens(const SideCounts& counts, const char* side) {
  if (counts.unknown * 1000 <= counts.tokens) return;
  print_note(
      "weft: warning: {} of the {} tokens are unknown, because the tokenizer lacks their characters; the model cannot "
      "learn them (see docs/packing.md)\n",
      share(counts.unknown, counts.tokens), side);
}

}  // namespace

void print_pack_summary(const PackSummary& summary, const PackOptions& options, double seconds) {
  print_pairs(summary.counts, options);
  print_variants(summary);
  fmt::print("\n");
  print_tokens(summary.manifest, summary.counts);
  fmt::print("\n");
  print_output(summary, options.output, seconds);
  warn_of_unknown_tokens(summary.counts.source, "source");
  warn_of_unknown_tokens(summary.counts.target, "target");
}

void print_dropped(const Drops& dropped, const FilterOptions& options) {
  for (size_t i = 0; i < kNumFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (dropped.first(fault).empty()) continue;
    fmt::print("dropped, {}:\n", description(fault, options));
    for (const DroppedPair& pair : dropped.first(fault))
      fmt::print("  line {}\n    source  {}\n    target  {}\n", pair.number + 1, shown_line(pair.text.source),
                 shown_line(pair.text.target));
    fmt::print("\n");
  }
}

void print_changed(const SideCounts& counts, const char* side) {
  for (size_t i = 0; i < kNumTextChanges; ++i) {
    const auto change = static_cast<TextChange>(i);
    if (counts.changed.first(change).empty()) continue;
    fmt::print("{} changed by its tokens, {}:\n", side, description(change));
    for (const ChangedText& text : counts.changed.first(change))
      fmt::print("  line {}\n    text    {}\n    tokens  {}\n", text.number + 1, shown_line(text.before),
                 shown_line(text.after));
    fmt::print("\n");
  }
}

}  // namespace weft
