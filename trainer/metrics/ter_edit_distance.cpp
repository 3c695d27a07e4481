// trainer/metrics/ter_edit_distance.cpp: fills the table row by row, and reuses the rows of an unchanged prefix.
#include "trainer/metrics/ter_edit_distance.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

constexpr int kBeamWidth = 25;
constexpr int kUnreached = 1 << 29;

}  // namespace

BeamEditDistance::BeamEditDistance(std::vector<int> reference) : reference_(std::move(reference)) {
  std::vector<Cell> first_row;
  for (size_t j = 0; j <= reference_.size(); ++j) first_row.push_back({static_cast<int>(j), Edit::insert});
  rows_.push_back(std::move(first_row));
}

int BeamEditDistance::operator()(const std::vector<int>& hypothesis) {
  size_t num_equal = 0;  // rows are reused only for equal lengths, because the length determines the beam
  if (hypothesis.size() == hypothesis_.size()) {
    num_equal = std::mismatch(hypothesis.begin(), hypothesis.end(), hypothesis_.begin()).first - hypothesis.begin();
  }
  hypothesis_ = hypothesis;
  rows_.resize(hypothesis.size() + 1);
  for (size_t i = num_equal + 1; i <= hypothesis.size(); ++i) fill_row(i);
  return rows_.back().back().cost;
}

void BeamEditDistance::fill_row(size_t i) {
  const double ratio = static_cast<double>(reference_.size()) / hypothesis_.size();
  // If the hypothesis is very short, the diagonal moves by more than the usual width per row, so the beam is wider.
  const auto width = static_cast<int64_t>(ratio / 2 > kBeamWidth ? std::ceil(ratio / 2 + kBeamWidth) : kBeamWidth);
  const auto diagonal = static_cast<int64_t>(std::floor(i * ratio));
  const int64_t num_columns = std::ssize(reference_) + 1;
  const int64_t first = std::max<int64_t>(0, diagonal - width);
  const int64_t last = i == hypothesis_.size() ? num_columns : std::min(num_columns, diagonal + width);

  const std::vector<Cell>& above = rows_[i - 1];
  std::vector<Cell>& row = rows_[i];
  row.assign(num_columns, {kUnreached, Edit::unreached});
  for (int64_t j = first; j < last; ++j) {
    auto offer = [&cell = row[j]](int cost, Edit edit) {
      if (cost < cell.cost) cell = {cost, edit};
    };
    if (j > 0) {
      const bool equal = hypothesis_[i - 1] == reference_[j - 1];
      offer(above[j - 1].cost + (equal ? 0 : 1), equal ? Edit::match : Edit::substitute);
    }
    offer(above[j].cost + 1, Edit::remove);
    if (j > 0) offer(row[j - 1].cost + 1, Edit::insert);
  }
}

std::vector<Edit> BeamEditDistance::path() const {
  std::vector<Edit> edits;
  for (size_t i = hypothesis_.size(), j = reference_.size(); i > 0 || j > 0;) {
    const Edit edit = rows_[i][j].edit;
    edits.push_back(edit);
    if (edit != Edit::insert) --i;
    if (edit != Edit::remove) --j;
  }
  std::reverse(edits.begin(), edits.end());
  return edits;
}

}  // namespace weft
