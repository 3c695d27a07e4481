// data/subword/piece_list.h: reads the pieces of a SentencePiece model, and replaces them.
//
// A model file is a Protocol Buffers message, ModelProto of sentencepiece_model.proto. Its field 1 is a piece (piece =
// 1, score = 2, type = 3), and field 2 the trainer's settings. A piece's id is its place in the file, but a
// segmentation depends only on texts, scores and types, so pieces can change places.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Piece {
  enum Type : uint8_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

  // Score of the unused pieces in a model that belong only to the model of the other side. It is lower than any
  // piece's, so that merging pieces to such a piece comes last.
  static constexpr float kOtherSide = -1e9f;

  std::string text;
  float score = 0;  // BPE: minus the merge's number; unigram: a log-probability
  Type type = normal;
  bool is_other_sides() const { return type == unused && score == kOtherSide; }
  bool operator==(const Piece&) const = default;
};

// Returns the byte for which a byte piece stands. Such pieces have names like <0xE6>; SentencePiece accepts no others.
uint8_t byte_named(std::string_view piece);

struct PieceList {
  enum Kind : uint8_t { unigram = 1, bpe = 2, word = 3, character = 4 };

  std::vector<Piece> pieces;  // by id
  uint64_t kind = unigram;
  // Number of vocabulary entries. Later pieces also segment text, but then stand for unknown: an imported vocabulary
  // may lack pieces of its model. Weft stores this number in the trainer's settings, as field 200, the first that
  // SentencePiece leaves to others.
  int64_t entries = 0;
  bool operator==(const PieceList&) const = default;
};

// `model` is the content of the file `name`. Throws a data Error if it is not a SentencePiece model.
PieceList read_pieces(std::string_view model, const std::string& name);

// Returns the model with the pieces and entries of `list`. The first three pieces become unknown, begin and end of
// sentence, whatever their names. `padding` is the id of padding, or -1. All other settings, such as normalization
// rules, are kept, but not the samples of segmentations with which SentencePiece tests a model. REQUIRES: `model` is
// valid, and the pieces' texts differ.
std::string with_pieces(std::string_view model, const PieceList& list, int64_t padding = -1);

// Returns the model with rules that change no text: no dummy prefix, and no space is removed.
std::string without_normalization(std::string_view model);

}  // namespace weft
