// trainer/metrics/ter_edit_distance.h: computes TER's edit distance and its path, in a beam around the diagonal.
//
// All edits cost 1. On a tie, a match or substitution is preferred, then the removal of a hypothesis word, then the
// insertion of a reference word. Cells more than 25 columns off the diagonal are skipped, so the distance
// between very different texts can be too large. This limit is part of the score's definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

enum class Edit : uint8_t { unreached, match, substitute, remove, insert };

class BeamEditDistance {
 public:
  explicit BeamEditDistance(std::vector<int> reference);  // words as numbers

  int operator()(const std::vector<int>& hypothesis);
  std::vector<Edit> path() const;  // path of the last call, from the first word to the last

 private:
  struct Cell {
    int cost;
    Edit edit;
  };
  void fill_row(size_t i);

  std::vector<int> reference_, hypothesis_;
  std::vector<std::vector<Cell>> rows_;  // rows_[i][j]: from i hypothesis words to the first j reference words
};

}  // namespace weft
