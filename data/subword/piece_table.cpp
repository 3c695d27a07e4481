// data/subword/piece_table.cpp: reads a SentencePiece model.
#include "data/subword/piece_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "tensor/error.h"

namespace weft {
namespace {

template <typename T>
uint64_t load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  return hash ^ hash >> 32;
}

// Hashes the text eight bytes at a time. The words that cover its last bytes may overlap.
uint64_t hash_of(std::string_view text) {
  uint64_t hash = text.size();
  const char* next = text.data();
  size_t left = text.size();
  for (; left > 8; next += 8, left -= 8) hash = mixed(hash, load<uint64_t>(next));
  if (left >= 4) return mixed(hash, load<uint32_t>(next) | load<uint32_t>(next + left - 4) << 32);
  if (left == 0) return hash;
  return mixed(hash, load<uint8_t>(next) | load<uint8_t>(next + left / 2) << 8 | load<uint8_t>(next + left - 1) << 16);
}

}  // namespace

PieceTable::PieceTable(std::string_view model, const std::string& name) {
  PieceList list = read_pieces(model, name);
  if (list.kind != PieceList::unigram && list.kind != PieceList::bpe)
    fail(ErrorKind::data, fmt::format("{} is a word or character model, but subword sampling needs a BPE or unigram "
                                      "model, which has several segmentations per sentence",
                                      name));
  kind_ = static_cast<PieceList::Kind>(list.kind);
  pieces_ = std::move(list.pieces);
  entries_ = list.entries;

  lowest_score_ = std::numeric_limits<float>::max();
  slots_.resize(std::bit_ceil(4 * pieces_.size()));
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const auto id = static_cast<int32_t>(i);
    if (piece.type == Piece::unknown) unknown_ = id;
    if (piece.type == Piece::byte) bytes_[byte_named(piece.text)] = id, has_bytes_ = true;
    if (piece.type == Piece::unknown || piece.type == Piece::control || piece.type == Piece::byte) continue;
    add_to_index(id);
    longest_ = std::max(longest_, piece.text.size());
    if (piece.type == Piece::user_defined) longest_user_defined_ = std::max(longest_user_defined_, piece.text.size());
    if (piece.type != Piece::normal) continue;
    lowest_score_ = std::min(lowest_score_, piece.score);
  }
}

// Returns the slot that contains the text, or the empty slot where it belongs.
size_t PieceTable::slot_of(std::string_view text) const {
  const uint64_t hash = hash_of(text);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[at];
    if (slot.id < 0 || (slot.tag == tag && (*this)[slot.id].text == text)) return at;
  }
}

void PieceTable::add_to_index(int32_t id) {
  const std::string& text = (*this)[id].text;
  Slot& slot = slots_[slot_of(text)];
  if (slot.id < 0) slot = {static_cast<uint32_t>(hash_of(text) >> 32), id};  // of equal pieces, the first counts
}

int32_t PieceTable::find(std::string_view text) const { return text.size() > longest_ ? -1 : slots_[slot_of(text)].id; }

size_t PieceTable::user_defined_prefix(std::string_view text) const {
  for (size_t size = std::min(longest_user_defined_, text.size()); size > 0; --size) {
    const int32_t id = find(text.substr(0, size));
    if (id >= 0 && (*this)[id].type == Piece::user_defined) return size;
  }
  return 0;
}

void PieceTable::append_unknown(std::string_view character, std::vector<int32_t>& ids) const {
  if (has_bytes()) {
    for (const char byte : character) ids.push_back(bytes_[static_cast<unsigned char>(byte)]);
  } else if (ids.empty() || ids.back() != unknown_) {  // adjacent unknown tokens are one token, as in SentencePiece
    ids.push_back(unknown_);
  }
}

}  // namespace weft
