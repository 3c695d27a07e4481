// data/subword/piece_changes.h: changes the vocabulary of a SentencePiece model, and finds the old entries of which a
// new entry consists.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/subword/piece_list.h"

namespace weft {

// The models of a vocabulary: one model for both sides, or one for each. Their entries have the same texts, and those
// of the other side are unused pieces (Piece::is_other_sides).
using PieceLists = std::vector<PieceList>;

// Appends the text pieces of `other` that `list` lacks, and returns their number. Pieces of the other side become
// pieces of this side, too. Pieces of a unigram model keep their scores; pieces of a BPE model are merged after those
// of `list`, in their order. Throws a usage Error that names `file`, the file of `other`, unless both models are BPE
// models or both unigram models.
int64_t grow(PieceList& list, const PieceList& other, const std::string& file);

// Appends the entries of `longer`, the model of the other side, that `list` lacks. They are pieces of the other side,
// unless `list` already divides text into them.
void append_other_sides(PieceList& list, const PieceList& longer);

// Appends a control piece, which is a tag. Throws a usage Error if the piece exists.
void add_tag(PieceList& list, const std::string& tag);

// Removes the normal pieces that are neither single characters nor, for one of the models, in the set of its pieces in
// `used`, and returns their number. Pieces from which BPE merges a used piece remain, so each model's segmentation of a
// text with only its used pieces does not change.
int64_t prune(PieceLists& lists, std::vector<std::unordered_set<std::string>> used);

struct EntryOrigins {
  // For each entry, the old entries of which the new one consists: the entry with the same text, or the pieces of its
  // text as the old model segments it. Empty: there is none.
  std::vector<std::vector<int64_t>> of_entry;
  int64_t kept = 0, composed = 0, unknown = 0;  // numbers of entries with the same, several or no old entries
};

// `copies` maps tags to old entries, such as {"dan_Latn", "deu_Latn"}. `old` are files of models with the same ids. If
// there are several, the model that segments a text into the fewest pieces counts.
EntryOrigins origins_of(const PieceList& list, const std::vector<std::string>& old,
                        const std::map<std::string, std::string>& copies);

}  // namespace weft
