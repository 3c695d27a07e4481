// data/subword/piece_list.cpp: reads and writes the messages of a SentencePiece model.
#include "data/subword/piece_list.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>

#include "data/subword/proto_reader.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr uint64_t kPieces = 1, kTrainer = 2, kSelfTest = 4;  // fields of ModelProto
constexpr uint64_t kText = 1, kScore = 2, kType = 3;          // fields of a piece
// Fields of the normalizer's settings.
constexpr uint64_t kRules = 1, kDummyPrefix = 3, kRemoveSpaces = 4, kEscapeSpaces = 5;
// Fields of the trainer's settings: the ids and the names of unknown, begin and end of sentence, and padding.
constexpr uint64_t kModelType = 3, kVocabularySize = 4, kEntries = 200;
constexpr std::array<uint64_t, 4> kIds = {40, 41, 42, 43}, kNames = {45, 46, 47, 48};

void read_piece(ProtoReader& fields, Piece& piece) {
  while (const auto field = fields.next()) {
    if (field->number == kText) piece.text = field->bytes;
    if (field->number == kScore) piece.score = std::bit_cast<float>(static_cast<uint32_t>(field->value));
    if (field->number == kType) piece.type = static_cast<Piece::Type>(field->value);
  }
}

void append_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>((value & 0x7f) | 0x80);
  to += static_cast<char>(value);
}
void append_number(std::string& to, uint64_t field, uint64_t value) {
  append_varint(to, field << 3);
  append_varint(to, value);
}
void append_bytes(std::string& to, uint64_t field, std::string_view bytes) {
  append_varint(to, field << 3 | 2);
  append_varint(to, bytes.size());
  to += bytes;
}
void append_float(std::string& to, uint64_t field, float value) {
  append_varint(to, field << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(bits >> shift & 0xff);
}

std::string message_of(const Piece& piece) {
  std::string message;
  append_bytes(message, kText, piece.text);
  append_float(message, kScore, piece.score);
  append_number(message, kType, piece.type);
  return message;
}

bool is_replaced(uint64_t field) {
  for (size_t i = 0; i < kIds.size(); ++i)
    if (field == kIds[i] || field == kNames[i]) return true;
  return field == kVocabularySize || field == kEntries;
}

std::string with_special_ids(std::string_view trainer, const PieceList& list, int64_t padding) {
  std::string message;
  ProtoReader fields(trainer);
  while (const auto field = fields.next())
    if (!is_replaced(field->number)) message += field->encoded;
  append_number(message, kVocabularySize, list.pieces.size());
  for (size_t i = 0; i < kIds.size(); ++i) {
    const int64_t id = i + 1 < kIds.size() ? static_cast<int64_t>(i) : padding;
    append_number(message, kIds[i], static_cast<uint64_t>(id));
    if (id >= 0) append_bytes(message, kNames[i], list.pieces[static_cast<size_t>(id)].text);
  }
  if (list.entries < std::ssize(list.pieces)) append_number(message, kEntries, static_cast<uint64_t>(list.entries));
  return message;
}

}  // namespace

uint8_t byte_named(std::string_view piece) {
  uint8_t byte = 0;
  if (piece.size() > 3) std::from_chars(piece.data() + 3, piece.data() + piece.size(), byte, 16);
  return byte;
}

PieceList read_pieces(std::string_view model, const std::string& name) {
  PieceList list;
  bool is_broken = false;
  uint64_t entries = std::numeric_limits<uint64_t>::max();
  ProtoReader fields(model);
  while (const auto field = fields.next()) {
    ProtoReader inner(field->bytes);
    if (field->is_number) continue;  // Protocol Buffers leave out a known field of another type
    if (field->number == kTrainer) {
      while (const auto setting = inner.next()) {
        if (!setting->is_number) continue;
        if (setting->number == kModelType) list.kind = setting->value;
        if (setting->number == kEntries) entries = setting->value;
      }
    } else if (field->number == kPieces) {
      read_piece(inner, list.pieces.emplace_back());
    }
    is_broken = is_broken || inner.is_broken();
  }
  if (is_broken || fields.is_broken() || list.pieces.empty())
    fail(ErrorKind::data, fmt::format("{} is not a SentencePiece model, or is damaged", name));
  list.entries = static_cast<int64_t>(std::min<uint64_t>(entries, list.pieces.size()));
  return list;
}

std::string with_pieces(std::string_view model, const PieceList& list, int64_t padding) {
  std::string changed, trainer;  // a message that occurs several times is the same as all of them joined
  for (const Piece& piece : list.pieces) append_bytes(changed, kPieces, message_of(piece));
  ProtoReader fields(model);
  while (const auto field = fields.next()) {
    if (field->number == kTrainer && !field->is_number) trainer += field->bytes;
    if (field->number > kTrainer && field->number != kSelfTest) changed += field->encoded;
  }
  append_bytes(changed, kTrainer, with_special_ids(trainer, list, padding));
  return changed;
}

std::string without_normalization(std::string_view model) {
  std::string changed, rules;
  ProtoReader fields(model);
  while (const auto field = fields.next())
    if (field->number != kNormalizer && field->number != kSelfTest) changed += field->encoded;
  append_bytes(rules, kRules, "identity");
  append_number(rules, kDummyPrefix, 0);
  append_number(rules, kRemoveSpaces, 0);
  append_number(rules, kEscapeSpaces, 1);
  append_bytes(changed, kNormalizer, rules);
  return changed;
}

}  // namespace weft
