// data/text/scripts.cpp: parses names of scripts, and looks up the script of each letter.
#include "data/text/scripts.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "data/text/range_table.h"
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
  const ScriptRange* found = range_of(kScripts, c);
  return found == std::end(kScripts) ? nullptr : found;
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

ScriptSet::Letters ScriptSet::count(std::string_view text) const {
  Letters letters;
  const ScriptRange* range = nullptr;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    i += static_cast<size_t>(c.num_bytes);
    const ScriptRange* found = script_range(c.value, range);
    if (!found) continue;
    range = found;
    ++(included_[static_cast<size_t>(found->script)] ? letters.own : letters.foreign);
  }
  return letters;
}

double ScriptSet::share(std::string_view text) const {
  const Letters n = count(text);
  return n.own == 0 ? 0.0 : static_cast<double>(n.own) / static_cast<double>(n.own + n.foreign);
}

double ScriptSet::foreign_share(std::string_view text) const {
  const Letters n = count(text);
  return n.foreign == 0 ? 0.0 : static_cast<double>(n.foreign) / static_cast<double>(n.own + n.foreign);
}

}  // namespace weft
