// data/text/scripts.cpp: parses names of scripts, and looks up the script of each letter.
#include "data/text/scripts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "data/text/split.h"
#include "data/text/unicode.h"
#include "data/text/unicode_scripts.h"
#include "tensor/error.h"

namespace weft {
namespace {

using unicode_tables::kScriptNames;
using unicode_tables::kScripts;
using unicode_tables::ScriptRange;

// Returns the range that contains c, or null if c is not a letter of exactly one script. `last`, the range of the
// letter before, is tried first, because neighboring letters are mostly in the same range.
const ScriptRange* script_range(char32_t c, const ScriptRange* last) {
  if (last && c >= last->first && c <= last->last) return last;
  const auto after = std::upper_bound(std::begin(kScripts), std::end(kScripts), c,
                                      [](char32_t value, const ScriptRange& range) { return value < range.first; });
  if (after == std::begin(kScripts) || c > std::prev(after)->last) return nullptr;
  return std::prev(after);
}

}  // namespace

ScriptSet::ScriptSet(const std::string& names, const char* option) : included_(std::size(kScriptNames) + 1) {
  for (const std::string_view name : split(names, '+')) {
    const auto found = std::find(std::begin(kScriptNames), std::end(kScriptNames), name);
    if (found == std::end(kScriptNames))
      fail(ErrorKind::usage, fmt::format("{} {}: '{}' is not a known script; give one of {}", option, names, name,
                                         fmt::join(kScriptNames, ", ")));
    included_[static_cast<size_t>(found - std::begin(kScriptNames))] = true;
  }
}

double ScriptSet::foreign_share(std::string_view text) const {
  int64_t letters = 0, foreign = 0;
  const ScriptRange* range = nullptr;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    i += static_cast<size_t>(c.num_bytes);
    const ScriptRange* found = script_range(c.value, range);
    if (!found) continue;
    range = found;
    ++letters;
    foreign += !included_[static_cast<size_t>(found->script)];
  }
  return letters == 0 ? 0.0 : static_cast<double>(foreign) / static_cast<double>(letters);
}

}  // namespace weft
