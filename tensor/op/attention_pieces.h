// tensor/op/attention_pieces.h: divides the work of attention's backward pass among the thread blocks of a GPU. The
// host does this, because it knows the sentences before the GPU does.
//
// Sentences are divided into tiles of 16 rows; the last tile of a sentence may be shorter. A piece has up to four tiles
// of queries and four tiles of keys. Short sentences share pieces, and a shared piece computes the probabilities once
// for all gradients. A longer sentence is divided into pieces for 64 of its queries or 64 of its keys each, and every
// such piece computes the probabilities that it needs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace weft::ops {

struct AttentionPieces {
  static constexpr int kTileRows = 16, kTiles = 4, kRows = kTiles * kTileRows;  // per piece, on each side
  static constexpr int kValues = 4;                                             // per piece, and for the counts

  // Returns the max number of pieces if queries and keys have `rows` rows in total. Two consecutive shared pieces have
  // at least five tiles on one side, and a tile has at least one row. A longer sentence has two pieces per 64 rows,
  // rounded up.
  template <typename Rows>
  static Rows most(Rows rows) {
    return rows / 2 + 1;
  }
};

// Returns [1 + pieces, 4]. Row 0 contains the number of pieces of long sentences, the number of shared pieces, and two
// zeros. Then each piece of a long sentence has a row: the sentence, the first row of the sentence in the piece, 0 for
// queries or 1 for keys, and a zero. Last, each shared piece has a row with four sentences (-1: none). Shared pieces
// with more work come first, so that a GPU does not finish with a long piece. The pieces also work for other keys if no
// sentence has more keys than here.
inline std::vector<int32_t> attention_pieces(const std::vector<int32_t>& q_lengths,
                                             const std::vector<int32_t>& k_lengths) {
  using P = AttentionPieces;
  struct Shared {
    std::array<int32_t, P::kTiles> sentences{-1, -1, -1, -1};
    int count = 0, q_tiles = 0, k_tiles = 0, pairs = 0;  // pairs of tiles of one sentence's queries and keys
  };
  constexpr std::ptrdiff_t kOpen = 64;  // only the last pieces are searched for room for a sentence
  std::vector<Shared> shared;
  std::vector<int32_t> of_long;
  for (size_t i = 0; i < q_lengths.size(); ++i) {
    const int32_t sentence = static_cast<int32_t>(i), longest = std::max(q_lengths[i], k_lengths[i]);
    if (longest > P::kRows) {
      for (int32_t row = 0; row < longest; row += P::kRows)
        for (const int32_t keys : {0, 1}) of_long.insert(of_long.end(), {sentence, row, keys, 0});
    } else if (longest > 0) {
      const auto tiles = [](int32_t rows) { return (rows + P::kTileRows - 1) / P::kTileRows; };
      const int q = tiles(q_lengths[i]), k = tiles(k_lengths[i]);
      const auto open = shared.end() - std::min(kOpen, shared.end() - shared.begin());
      auto piece = std::find_if(open, shared.end(), [&](const Shared& s) {
        return s.count < P::kTiles && s.q_tiles + q <= P::kTiles && s.k_tiles + k <= P::kTiles;
      });
      if (piece == shared.end()) piece = shared.insert(shared.end(), Shared{});
      piece->sentences[static_cast<size_t>(piece->count++)] = sentence;
      piece->q_tiles += q, piece->k_tiles += k, piece->pairs += q * k;
    }
  }
  std::ranges::stable_sort(shared, std::ranges::greater{}, &Shared::pairs);
  std::vector<int32_t> all{static_cast<int32_t>(of_long.size() / P::kValues), static_cast<int32_t>(shared.size()), 0,
                           0};
  all.insert(all.end(), of_long.begin(), of_long.end());
  for (const Shared& s : shared) all.insert(all.end(), s.sentences.begin(), s.sentences.end());
  return all;
}

}  // namespace weft::ops
