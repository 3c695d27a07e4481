// data/subword/piece_table.h: reads the pieces of a SentencePiece model with their scores and types, and the model's
// kind. Sampling needs this data, but SentencePiece's interface does not provide it.
//
// A model file is a Protocol Buffers message, ModelProto of sentencepiece_model.proto. Its field 1 is a piece (piece =
// 1, score = 2, type = 3), and field 2 the trainer's settings (model_type = 3, byte_fallback = 35). If the file is not
// such a message, the constructor throws a data Error.
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
  // Returns the id of the normal, user-defined or unused piece with this text, or -1 if there is none.
  int32_t find(std::string_view text) const;
  // Returns the bytes of the longest user-defined piece at the start of `text`, or 0. Such pieces are never divided.
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
  // This hash table with open addressing has at least four slots per piece. Most texts that are looked up are not
  // pieces, and then one slot is usually enough to find that out.
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
