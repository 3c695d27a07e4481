// data/subword/piece_table.h: reads the pieces of a SentencePiece model with their scores and types, and the model's
// kind. Sampling needs this data, but SentencePiece's interface does not provide it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/subword/piece_list.h"

namespace weft {

class PieceTable {
 public:
  // `model` is the content of the file `name`. Throws a data Error if it is not a SentencePiece model, or a word or
  // character model, which has only one segmentation.
  PieceTable(std::string_view model, const std::string& name);
  PieceList::Kind kind() const { return kind_; }
  // Returns the token of a piece: its id, or the unknown id for pieces that are no vocabulary entries.
  int32_t token_of(int32_t id) const { return id < entries_ ? id : unknown_; }
  bool has_bytes() const { return has_bytes_; }
  const Piece& operator[](int32_t id) const { return pieces_[static_cast<size_t>(id)]; }
  // Returns the id of the normal, user-defined or unused piece with this text, or -1 if there is none.
  int32_t find(std::string_view text) const;
  // Returns the bytes of the longest user-defined piece at the start of `text`, or 0. Such pieces are never divided.
  size_t user_defined_prefix(std::string_view text) const;
  // Appends the ids of a character that no piece contains: its bytes, or the unknown id.
  void append_unknown(std::string_view character, std::vector<int32_t>& ids) const;

  size_t longest() const { return longest_; }           // max bytes of a piece
  float lowest_score() const { return lowest_score_; }  // over normal pieces

 private:
  size_t slot_of(std::string_view text) const;
  void add_to_index(int32_t id);

  PieceList::Kind kind_ = PieceList::unigram;
  std::vector<Piece> pieces_;
  // This hash table with open addressing has at least four slots per piece. Most texts that are looked up are not
  // pieces, and then one slot is usually enough to find that out.
  struct Slot {
    uint32_t tag = 0;  // the upper half of the hash
    int32_t id = -1;
  };
  std::vector<Slot> slots_;
  int64_t entries_ = 0;
  int32_t unknown_ = 0;
  bool has_bytes_ = false;
  std::array<int32_t, 256> bytes_ = {};  // the id of each byte's piece
  size_t longest_ = 0, longest_user_defined_ = 0;
  float lowest_score_ = 0;
};

}  // namespace weft
