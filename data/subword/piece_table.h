// data/subword/piece_table.h: the pieces of a SentencePiece model, with scores and types, and the model's kind.
// Sampling segmentations needs these, but SentencePiece's interface does not provide them.
//
// They are read from the model file, a Protocol Buffers message (sentencepiece_model.proto): ModelProto has pieces in
// field 1 (piece = 1, score = 2, type = 3) and the trainer's settings in field 2 (model_type = 3, byte_fallback = 35).
// A file that is not such a message throws a data Error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Piece {
  enum Type : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

  std::string text;
  float score = 0;  // BPE: minus the merge's number; unigram: a log-probability
  Type type = normal;
};

class PieceTable {
 public:
  enum Kind : uint8_t { unigram = 1, bpe = 2 };

  // `model` is the content of the file `name`. Throws a data Error for a word or character model, which has only one
  // segmentation.
  PieceTable(std::string_view model, const std::string& name);
  Kind kind() const { return kind_; }
  bool has_bytes() const { return first_byte_ >= 0; }
  const Piece& operator[](int32_t id) const { return pieces_[static_cast<size_t>(id)]; }
  // Returns the id of a piece of text (normal, user-defined or unused), or -1 if there is none.
  int32_t find(std::string_view text) const;
  // Returns the size in bytes of the longest user-defined piece (never divided) at the start of `text`, or 0.
  size_t user_defined_prefix(std::string_view text) const;
  // Appends the ids of a character that no piece contains: its bytes, or the unknown id.
  void append_unknown(std::string_view character, std::vector<int32_t>& ids) const;

  size_t longest() const { return longest_; }           // max bytes of a piece
  float lowest_score() const { return lowest_score_; }  // over normal pieces

 private:
  uint64_t read(std::string_view model, const std::string& name);
  size_t slot_of(std::string_view text) const;
  void add_to_index(int32_t id);

  Kind kind_ = unigram;
  std::vector<Piece> pieces_;
  // A hash table with open addressing, four times as large as needed. Most texts that are looked up are not pieces,
  // which one slot usually shows.
  struct Slot {
    uint32_t tag = 0;  // the upper half of the hash
    int32_t id = -1;
  };
  std::vector<Slot> slots_;
  int32_t unknown_ = 0, first_byte_ = -1;
  size_t longest_ = 0, longest_user_defined_ = 0;
  float lowest_score_ = 0;
};

}  // namespace weft
