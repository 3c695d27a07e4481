// data/audit/text_faults.h: finds text with a broken encoding, and text in another language than the rest of its side.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Returns what is wrong with the encoding of a line, or null:
//   a replacement character (U+FFFD), which takes the place of lost bytes;
//   a control character of U+0080 to U+009F;
//   UTF-8 that was read as Windows-1252 or Latin-1 ("cafÃ©"): one character of Western European text, or two of others.
// REQUIRES: valid UTF-8.
const char* encoding_fault(std::string_view line);

// Tells languages apart by the frequencies of three consecutive characters (Cavnar & Trenkle 1994, "N-gram-based text
// categorization"), which it learns from a sample of both sides. A language that the sample lacks needs no profile.
class LanguageCheck {
 public:
  enum class Side : uint8_t { source, target };
  enum class Verdict : uint8_t { usual, of_other_side, unusual };

  // `sides` contains the normal text (data/audit/shingles.h) of lines of the source and of the target.
  explicit LanguageCheck(const std::array<std::vector<std::string>, 2>& sides);

  // of_other_side: the line is much more like the other side. unusual: it is far less likely than the sample's lines,
  // as a third language is. Lines with few letters are usual, and all lines if the sample has fewer than kFewestLines.
  Verdict check(std::string_view normal, Side side) const;

 private:
  static constexpr size_t kBuckets = size_t{1} << 16;  // hashed sequences
  static constexpr size_t kFewestLines = 1000;

  double mean_log_probability(std::string_view normal, size_t side) const;

  std::array<std::vector<float>, 2> log_probability_;
  std::array<double, 2> mean_{}, deviation_{};  // over lines of the sample
  bool has_sample_ = false;
};

}  // namespace weft
