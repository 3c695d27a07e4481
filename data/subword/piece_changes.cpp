// data/subword/piece_changes.cpp: implements changes of piece lists.
#include "data/subword/piece_changes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <unordered_map>

#include "data/atomic_file.h"
#include "data/batch.h"
#include "data/subword/piece_splitter.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

std::unordered_map<std::string_view, int64_t> ids_of(const PieceList& list) {
  std::unordered_map<std::string_view, int64_t> ids;
  for (int64_t id = 0; id < list.entries; ++id) ids.emplace(list.pieces[static_cast<size_t>(id)].text, id);
  return ids;
}

// Appends entries. Pieces that only segmented text so far become entries if they are appended.
void append(PieceList& list, const std::vector<Piece>& added) {
  std::unordered_set<std::string_view> texts;
  for (const Piece& piece : added) texts.insert(piece.text);
  const auto tail = list.pieces.begin() + list.entries;
  list.pieces.erase(std::remove_if(tail, list.pieces.end(), [&](const Piece& p) { return texts.contains(p.text); }),
                    list.pieces.end());
  list.pieces.insert(list.pieces.begin() + list.entries, added.begin(), added.end());
  list.entries += std::ssize(added);
}

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const auto size = static_cast<size_t>(code_point_at(text, at).num_bytes);
    parts.emplace_back(text.substr(at, size));
    at += size;
  }
  return parts;
}

// Adds the pieces that BPE merges on the way from characters to `text` (Sennrich et al. 2016, section 3.2).
void add_merged(const std::unordered_map<std::string_view, float>& scores, const std::string& text,
                std::unordered_set<std::string>& used) {
  std::vector<std::string> parts = characters(text);
  while (parts.size() > 1) {
    size_t best = parts.size();
    float highest = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      if (const auto found = scores.find(parts[i] + parts[i + 1]); found != scores.end() && found->second > highest)
        best = i, highest = found->second;
    if (best == parts.size()) return;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    used.insert(parts[best]);
  }
}

// Returns the entries into which the splitter with the fewest pieces divides the text, without unknown ones.
std::vector<int64_t> old_pieces(const std::string& text, const std::vector<PieceSplitter>& splitters,
                                const std::unordered_map<std::string_view, int64_t>& ids) {
  std::vector<std::string> fewest;
  for (const PieceSplitter& splitter : splitters)
    if (std::vector<std::string> parts = splitter.split(text); fewest.empty() || parts.size() < fewest.size())
      fewest = std::move(parts);
  std::vector<int64_t> of;
  for (const std::string& part : fewest)
    if (const auto found = ids.find(part); found != ids.end() && found->second >= SpecialIds::count)
      of.push_back(found->second);
  return of;
}

// Whether a model needs an entry. An entry that no model needs, but one contains as a piece of its own, can go.
enum class Need : uint8_t { other_sides, none, needed };

// Unused pieces and pieces beyond the entries also segment text, so what they are merged from is needed.
std::vector<Need> needs_of(const PieceList& list, std::unordered_set<std::string> used) {
  float lowest = std::numeric_limits<float>::max();
  std::unordered_map<std::string_view, float> scores;
  for (int64_t id = 0; id < std::ssize(list.pieces); ++id) {
    const Piece& piece = list.pieces[static_cast<size_t>(id)];
    if (piece.type != Piece::normal && piece.type != Piece::unused) continue;
    scores.emplace(piece.text, piece.score);
    if (piece.type == Piece::normal) lowest = std::min(lowest, piece.score);
    if ((piece.type == Piece::unused && !piece.is_other_sides()) || id >= list.entries) used.insert(piece.text);
  }
  if (list.kind == PieceList::bpe)
    for (const std::string& text : std::vector<std::string>(used.begin(), used.end())) add_merged(scores, text, used);
  std::vector<Need> needs;
  for (int64_t id = 0; id < list.entries; ++id) {
    const Piece& piece = list.pieces[static_cast<size_t>(id)];
    // SentencePiece derives the score of unknown characters from the lowest score of a unigram model.
    const bool is_needed = piece.type != Piece::normal || characters(piece.text).size() == 1 ||
                           (list.kind == PieceList::unigram && piece.score == lowest);
    needs.push_back(used.contains(piece.text) || (is_needed && !piece.is_other_sides()) ? Need::needed
                    : piece.is_other_sides()                                            ? Need::other_sides
                                                                                        : Need::none);
  }
  return needs;
}

PieceSplitter splitter_into_entries(const std::string& file) {
  const std::string model = read_file(file);
  PieceList list = read_pieces(model, file);
  list.pieces.resize(static_cast<size_t>(list.entries));
  return {without_normalization(with_pieces(model, list)), file};
}

const char* kind_of(const PieceList& list) {
  return list.kind == PieceList::bpe ? "a BPE" : list.kind == PieceList::unigram ? "a unigram" : "another kind of";
}

}  // namespace

int64_t grow(PieceList& list, const PieceList& other, const std::string& file) {
  if (list.kind != other.kind || (list.kind != PieceList::bpe && list.kind != PieceList::unigram))
    fail(ErrorKind::usage,
         fmt::format("{} is {} model, but the model's tokenizer is {} model: both must be BPE models, "
                     "or both unigram models",
                     file, kind_of(other), kind_of(list)));
  float lowest = 0;
  for (const Piece& piece : list.pieces)
    if (piece.type == Piece::normal) lowest = std::min(lowest, piece.score);
  const auto ids = ids_of(list);
  std::vector<Piece> added;
  for (const Piece& piece : other.pieces) {
    const bool is_text = piece.type == Piece::normal || piece.type == Piece::user_defined;
    const auto found = ids.find(piece.text);
    const bool is_new = found == ids.end() || list.pieces[static_cast<size_t>(found->second)].is_other_sides();
    if (is_text && is_new && std::isfinite(piece.score)) added.push_back(piece);
  }
  if (list.kind == PieceList::bpe) {
    std::ranges::stable_sort(added, std::greater(), &Piece::score);
    for (Piece& piece : added) piece.score = lowest -= 1;
  }
  std::vector<Piece> appended;
  for (const Piece& piece : added) {
    const auto found = ids.find(piece.text);
    if (found == ids.end()) {
      appended.push_back(piece);
    } else {
      Piece& entry = list.pieces[static_cast<size_t>(found->second)];
      entry.score = piece.score, entry.type = piece.type;
    }
  }
  append(list, appended);
  return std::ssize(added);
}

void append_other_sides(PieceList& list, const PieceList& longer) {
  std::unordered_map<std::string_view, const Piece*> not_entries;
  for (auto piece = list.pieces.begin() + list.entries; piece != list.pieces.end(); ++piece)
    not_entries.emplace(piece->text, &*piece);
  std::vector<Piece> added;
  for (int64_t id = list.entries; id < longer.entries; ++id) {
    const std::string& text = longer.pieces[static_cast<size_t>(id)].text;
    const auto found = not_entries.find(text);
    added.push_back(found != not_entries.end() ? *found->second : Piece{text, Piece::kOtherSide, Piece::unused});
  }
  append(list, added);
}

void add_tag(PieceList& list, const std::string& tag) {
  if (ids_of(list).contains(tag))
    fail(ErrorKind::usage, fmt::format("the vocabulary already has an entry '{}'", printable(tag)));
  append(list, {{.text = tag, .score = 0, .type = Piece::control}});
}

int64_t prune(PieceLists& lists, std::vector<std::unordered_set<std::string>> used) {
  std::vector<Need> needs(static_cast<size_t>(lists.front().entries), Need::other_sides);
  for (size_t i = 0; i < lists.size(); ++i) {
    const std::vector<Need> of_list = needs_of(lists[i], std::move(used[i]));
    for (size_t id = 0; id < needs.size(); ++id) needs[id] = std::max(needs[id], of_list[id]);
  }
  const auto removed = std::ranges::count(needs, Need::none);
  for (PieceList& list : lists) {
    size_t id = 0;
    std::erase_if(list.pieces, [&](const Piece&) { return id++ < needs.size() && needs[id - 1] == Need::none; });
    list.entries -= removed;
  }
  return removed;
}

EntryOrigins origins_of(const PieceList& list, const std::vector<std::string>& old,
                        const std::map<std::string, std::string>& copies) {
  const PieceList old_list = read_pieces(read_file(old.front()), old.front());
  const auto ids = ids_of(old_list);
  std::vector<PieceSplitter> splitters;
  for (const std::string& file : old) splitters.push_back(splitter_into_entries(file));
  EntryOrigins origins;
  for (int64_t id = 0; id < list.entries; ++id) {
    const Piece& piece = list.pieces[static_cast<size_t>(id)];
    const auto copied = copies.find(piece.text);
    const auto same = ids.find(copied == copies.end() ? piece.text : copied->second);
    std::vector<int64_t> of;
    if (id < SpecialIds::count) {
      of = {id};
    } else if (same != ids.end()) {
      of = {same->second};
    } else if (piece.type == Piece::normal || piece.type == Piece::user_defined || piece.is_other_sides()) {
      of = old_pieces(piece.text, splitters, ids);
    }
    ++(id < SpecialIds::count || same != ids.end() ? origins.kept : of.empty() ? origins.unknown : origins.composed);
    origins.of_entry.push_back(std::move(of));
  }
  return origins;
}

}  // namespace weft
