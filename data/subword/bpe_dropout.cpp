// data/subword/bpe_dropout.cpp: encodes text with BPE, and leaves out merges at random.
//
// A candidate is a pair of adjacent symbols whose joined text is a piece. A queue yields the candidates by rank. A
// candidate that is left out does not return to the queue, but later merges next to it create new candidates.
#include <queue>
#include <unordered_map>

#include "data/subword/subword_sampler.h"
#include "data/text/unicode.h"

namespace weft {
namespace {

struct Symbol {
  std::string_view text;  // empty once merged into the previous symbol
  int previous = -1, next = -1;
  bool is_whole = false;  // a user-defined piece, which is never merged
};

struct Candidate {
  int left = 0, right = 0;
  float score = 0;
  size_t size = 0;  // bytes of the joined text; a symbol that grows later makes the candidate stale

  bool operator<(const Candidate& other) const {  // true if `other` is taken first
    return score < other.score || (score == other.score && left > other.left);
  }
};

class Segmentation {
 public:
  Segmentation(const PieceTable& pieces, std::string_view text) : pieces_(pieces) {
    while (!text.empty()) {
      const size_t whole = pieces.user_defined_prefix(text);
      const size_t size = whole > 0 ? whole : static_cast<size_t>(code_point_at(text, 0).num_bytes);
      const int at = static_cast<int>(symbols_.size());
      symbols_.push_back({text.substr(0, size), at - 1, size < text.size() ? at + 1 : -1, whole > 0});
      text.remove_prefix(size);
    }
    for (int i = 0; i + 1 < static_cast<int>(symbols_.size()); ++i) find_candidate(i, i + 1);
  }

  void merge(double dropout, CountedRandom& random) {
    while (!queue_.empty()) {
      const Candidate c = queue_.top();
      queue_.pop();
      Symbol &left = at(c.left), &right = at(c.right);
      if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != c.size) continue;
      if (dropout > 0 && random.uniform() < dropout) continue;
      left.text = {left.text.data(), c.size};
      left.next = right.next;
      if (right.next >= 0) at(right.next).previous = c.left;
      right.text = {};
      find_candidate(left.previous, c.left);
      find_candidate(c.left, left.next);
    }
  }

  std::vector<int32_t> ids() const {
    std::vector<int32_t> ids;
    for (int i = symbols_.empty() ? -1 : 0; i >= 0; i = at(i).next) append(at(i).text, ids);
    return ids;
  }

 private:
  Symbol& at(int i) { return symbols_[static_cast<size_t>(i)]; }
  const Symbol& at(int i) const { return symbols_[static_cast<size_t>(i)]; }

  void find_candidate(int left, int right) {
    if (left < 0 || right < 0 || at(left).is_whole || at(right).is_whole) return;
    const size_t size = at(left).text.size() + at(right).text.size();
    const int32_t id = pieces_.find({at(left).text.data(), size});  // the symbols are adjacent in the text
    if (id < 0) return;
    queue_.push({left, right, pieces_[id].score, size});
    if (pieces_[id].type == Piece::unused) parts_[{at(left).text.data(), size}] = at(left).text.size();
  }

  // Appends the id of a piece. If merges have produced a piece that is not a token, splits it into its parts again.
  void append(std::string_view text, std::vector<int32_t>& ids) const {
    const int32_t id = pieces_.find(text);
    if (id < 0) return pieces_.append_unknown(text, ids);
    if (pieces_[id].type != Piece::unused) return ids.push_back(id);
    const auto parts = parts_.find(text);
    if (parts == parts_.end()) return ids.push_back(id);  // one character
    append(text.substr(0, parts->second), ids);
    append(text.substr(parts->second), ids);
  }

  const PieceTable& pieces_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Candidate> queue_;
  std::unordered_map<std::string_view, size_t> parts_;  // per unused piece, the bytes of its left part
};

}  // namespace

std::vector<int32_t> sample_bpe(const PieceTable& pieces, std::string_view text, double dropout,
                                CountedRandom& random) {
  Segmentation segmentation(pieces, text);
  segmentation.merge(dropout, random);
  return segmentation.ids();
}

}  // namespace weft
