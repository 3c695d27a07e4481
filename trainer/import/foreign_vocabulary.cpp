// trainer/import/foreign_vocabulary.cpp: moves the special entries to the front.
#include "trainer/import/foreign_vocabulary.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "data/batch.h"
#include "data/subword/piece_list.h"
#include "data/subword/piece_splitter.h"
#include "tensor/error.h"
#include "trainer/import/foreign_model.h"

namespace weft {
namespace {

// Our ids 0, 1 and 2. Weft never predicts its bos, so bos is the start token unless the decoder starts from eos. If the
// decoder starts from zeros and there is no bos, it is a new row.
std::vector<int64_t> special_rows(const ForeignVocabulary& v, const std::string& file) {
  const bool starts_from_bos = v.start >= 0 && v.start != v.eos && (v.has_padding_row || v.start != v.padding);
  const int64_t bos = starts_from_bos ? v.start : v.bos >= 0 && v.bos != v.eos ? v.bos : v.padding;
  const auto size = std::ssize(v.tokens);
  const bool is_new = v.start < 0 && bos == ForeignModel::kNewRow;
  const auto require_entry = [&](const char* name, int64_t id) {
    if (id < 0 || id >= size)
      fail(ErrorKind::checkpoint, fmt::format("{}: the vocabulary has no entry for {}", file, name));
  };
  require_entry("unknown", v.unknown);
  require_entry("eos", v.eos);
  if (!is_new) require_entry("begin of sentence", bos);
  if (v.unknown == bos || v.unknown == v.eos || bos == v.eos)
    fail(ErrorKind::checkpoint,
         fmt::format("{}: unknown, begin of sentence and eos have the ids {}, {}, {}, but need an entry each", file,
                     v.unknown, bos, v.eos));
  return {v.unknown, bos, v.eos};
}

// Returns the foreign id of each of our ids.
std::vector<int64_t> rows_of(const ForeignVocabulary& v, const std::string& file) {
  std::vector<int64_t> rows = special_rows(v, file);
  std::vector<bool> is_placed(v.tokens.size());
  for (const int64_t row : rows)
    if (row != ForeignModel::kNewRow) is_placed[static_cast<size_t>(row)] = true;
  for (int64_t row = 0; row < std::ssize(v.tokens); ++row)
    if (!is_placed[static_cast<size_t>(row)] && (v.has_padding_row || row != v.padding)) rows.push_back(row);
  return rows;
}

void require_no_duplicates(const std::vector<Piece>& pieces, const std::string& file) {
  std::unordered_set<std::string_view> texts;
  for (const Piece& piece : pieces)
    if (!texts.insert(piece.text).second)
      fail(ErrorKind::checkpoint, fmt::format("{}: the vocabulary contains '{}' twice", file, printable(piece.text)));
}

class Pieces {
 public:
  Pieces(const ForeignVocabulary& vocabulary, const std::vector<Piece>& theirs) : v_(vocabulary), theirs_(theirs) {
    for (const Piece& piece : theirs) by_text_.emplace(piece.text, &piece);
  }

  Piece of(int64_t id, int64_t row) const {
    const std::string token = row == ForeignModel::kNewRow ? "<s>" : v_.tokens[static_cast<size_t>(row)];
    const Piece named{.text = token.empty() ? fmt::format("<unnamed-{}>", row) : token};
    const auto typed = [&](Piece::Type type, float score = 0) { return Piece{named.text, score, type}; };
    if (id == 0) return typed(Piece::unknown);
    if (id < SpecialIds::count || row == v_.padding) return typed(Piece::control);
    const auto found = by_text_.find(token);
    if (found != by_text_.end() && found->second->type != Piece::unknown) return *found->second;
    return token.empty() || v_.tags[static_cast<size_t>(row)] ? typed(Piece::control)
                                                              : typed(Piece::unused, Piece::kOtherSide);
  }

  std::vector<Piece> not_in_vocabulary() const {
    const std::unordered_set<std::string_view> tokens(v_.tokens.begin(), v_.tokens.end());
    std::vector<Piece> missing;
    for (const Piece& piece : theirs_) {
      const bool is_text = piece.type != Piece::unknown && piece.type != Piece::control && piece.type != Piece::unused;
      if (is_text && !tokens.contains(piece.text)) missing.push_back(piece);
    }
    return missing;
  }

 private:
  const ForeignVocabulary& v_;
  const std::vector<Piece>& theirs_;
  std::unordered_map<std::string_view, const Piece*> by_text_;
};

}  // namespace

ImportedVocabulary import_vocabulary(const ForeignVocabulary& v, std::string_view sentencepiece,
                                     const std::string& file) {
  const PieceList theirs = read_pieces(sentencepiece, file);
  const Pieces pieces(v, theirs.pieces);
  ImportedVocabulary mine{.rows = rows_of(v, file), .tokenizer = {}};
  PieceList list{.pieces = {}, .kind = theirs.kind, .entries = std::ssize(mine.rows)};
  int64_t padding = -1;
  for (const int64_t row : mine.rows) {
    const auto id = std::ssize(list.pieces);
    if (id >= SpecialIds::count && row == v.padding) padding = id;
    list.pieces.push_back(pieces.of(id, row));
  }
  for (Piece& piece : pieces.not_in_vocabulary()) list.pieces.push_back(std::move(piece));
  require_no_duplicates(list.pieces, file);
  mine.tokenizer = with_pieces(sentencepiece, list, padding);
  require_sentencepiece(mine.tokenizer, file);
  return mine;
}

}  // namespace weft
