// data/audit/repeated_lines.h: finds which lines of a small set, such as a test set, a text repeats.
//
// A line is repeated
//   exactly     if the text is the same, apart from white space at its ends;
//   normalized  if the normal texts are the same (data/audit/shingles.h);
//   near        if the text contains at least kNear of the line's shingles.
// Lines with fewer than kShortest characters of normal text are left out, because texts share them by chance. Lines
// with fewer than kFewestNear distinct shingles have no near texts.
//
// A near text contains all but a few of a line's shingles. So only a few of a line's shingles, its rarest, need an
// index: if a text has fewer than kEvidence of these, it cannot be near (prefix filtering, Chaudhuri et al. 2006).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tensor/enum_names.h"

namespace weft {

enum class Repeat : uint8_t { none, near, normalized, exact };
constexpr EnumNames<Repeat, 4> enum_names(Repeat) {
  return {
      {{"none", Repeat::none}, {"near", Repeat::near}, {"normalized", Repeat::normalized}, {"exact", Repeat::exact}}};
}

class RepeatedLines {
 public:
  static constexpr double kNear = 0.8;
  static constexpr int64_t kShortest = 12;    // characters of normal text
  static constexpr int64_t kFewestNear = 25;  // distinct shingles; with fewer, texts are near by chance

  explicit RepeatedLines(const std::vector<std::string>& lines);

  struct Hit {
    int32_t line;
    Repeat repeat;
  };
  // Returns the lines that `text` repeats, by increasing number. Several threads may call it. `normal` is
  // normal_text().
  std::vector<Hit> find(std::string_view text, const std::string& normal) const;
  bool is_short(int32_t line) const { return normal_[static_cast<size_t>(line)].empty(); }

 private:
  static constexpr int64_t kEvidence = 3;

  int64_t needed(int32_t line) const;  // shared shingles of a near text
  void index_rarest(int32_t line, const std::unordered_map<uint64_t, int32_t>& num_lines_with);
  void add_near(const std::vector<uint64_t>& of_text, std::vector<Hit>& hits) const;

  std::vector<std::string> trimmed_, normal_;  // normal_ is empty for a short line
  std::vector<std::vector<uint64_t>> shingles_;
  std::unordered_map<std::string, std::vector<int32_t>> by_normal_;
  std::unordered_map<uint64_t, std::vector<int32_t>> by_shingle_;
  std::vector<bool> may_be_indexed_;  // by the low bits of a shingle
};

}  // namespace weft
