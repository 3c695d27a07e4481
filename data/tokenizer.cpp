// data/tokenizer.cpp: implements Tokenizer with a SentencePiece processor.
#include "data/tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <utility>

#include "data/atomic_file.h"
#include "data/batch.h"
#include "data/subword/piece_list.h"
#include "data/subword/piece_splitter.h"
#include "data/text/invisible.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {

struct Tokenizer::Impl {
  sentencepiece::SentencePieceProcessor processor;
  // The texts of all pieces, one after the other, with the end of each; a control piece has none. spells() reads them
  // for every token of a corpus, and they should fit into a core's cache.
  std::string surfaces;
  std::vector<uint32_t> ends = {0};
  std::vector<bool> bytes;  // true for byte pieces
  int64_t entries = 0;      // later pieces are unknown (PieceList)
  bool has_unused = false;  // the model has unused pieces
  std::vector<bool> exact;  // true for pieces that decode() writes as they are, next to any others
};

namespace {

void check(const sentencepiece::util::Status& status) {
  if (!status.ok()) fail(ErrorKind::data, fmt::format("SentencePiece: {}", status.error_message()));
}

void check_special_ids(const sentencepiece::SentencePieceProcessor& p, const std::string& model_file) {
  if (p.unk_id() == SpecialIds::unk && p.bos_id() == SpecialIds::bos && p.eos_id() == SpecialIds::eos) return;
  fail(ErrorKind::data,
       fmt::format("tokenizer {} has the ids {}, {}, {} for unknown, begin and end of sentence, but these must be {}, "
                   "{}, {}; train it with --unk_id=0 --bos_id=1 --eos_id=2, or let `weft pack` train a tokenizer",
                   model_file, p.unk_id(), p.bos_id(), p.eos_id(), SpecialIds::unk, SpecialIds::bos, SpecialIds::eos));
}

std::string surface_of(const sentencepiece::SentencePieceProcessor& p, int32_t id) {
  constexpr std::string_view kSpace = "\u2581";
  std::string piece = p.IdToPiece(id);
  if (p.IsControl(id)) return "";
  if (p.IsByte(id)) return std::string(1, static_cast<char>(byte_named(piece)));
  for (size_t at = 0; (at = piece.find(kSpace, at)) != std::string::npos;) piece.replace(at, kSpace.size(), " ");
  return piece;
}

std::string as_one_line(const std::string& text) {
  std::string line;
  line.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (is_control_or_line_break(c.value)) {
      line += ' ';
    } else {
      line.append(text, i, static_cast<size_t>(c.num_bytes));
    }
    i += static_cast<size_t>(c.num_bytes);
  }
  return line;
}

}  // namespace

Tokenizer::Tokenizer(const std::string& model_file) : impl_(std::make_unique<Impl>()) {
  const std::string model = read_file(model_file);
  impl_->entries = load_sentencepiece(model, model_file, impl_->processor).entries;
  check_special_ids(impl_->processor, model_file);
  if (size() <= SpecialIds::eos)
    fail(ErrorKind::data, fmt::format("tokenizer {} has no entries besides the special ones", model_file));
  for (int32_t id = 0; id < size(); ++id) {
    const std::string surface = surface_of(impl_->processor, id);
    impl_->surfaces += surface;
    impl_->exact.push_back(id != SpecialIds::unk && !impl_->processor.IsByte(id) && as_one_line(surface) == surface);
    impl_->ends.push_back(static_cast<uint32_t>(impl_->surfaces.size()));
    impl_->bytes.push_back(impl_->processor.IsByte(id));
    impl_->has_unused = impl_->has_unused || impl_->processor.IsUnused(id);
  }
}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;

int64_t Tokenizer::size() const { return impl_->entries; }

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  if (has_invisible(text)) return encode(without_invisible(text));
  text = trim(text);
  std::vector<int> ids;
  check(impl_->processor.Encode({text.data(), text.size()}, &ids));
  if (!impl_->has_unused && size() == impl_->processor.GetPieceSize()) return ids;
  std::vector<std::string> pieces;
  if (std::ranges::count(ids, SpecialIds::unk) > 0) check(impl_->processor.Encode({text.data(), text.size()}, &pieces));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == SpecialIds::unk && impl_->processor.IsUnused(impl_->processor.PieceToId(pieces[i])))
      ids[i] = impl_->processor.PieceToId(pieces[i]);
    if (ids[i] >= size()) ids[i] = SpecialIds::unk;
  }
  return ids;
}

// Encodes the text and joins its pieces. A byte piece has a name like <0xE6>, and becomes the byte that it names.
std::string Tokenizer::normalise(std::string_view text) const {
  if (has_invisible(text)) return normalise(without_invisible(text));
  text = trim(text);
  std::vector<std::string> pieces;
  check(impl_->processor.Encode({text.data(), text.size()}, &pieces));
  std::string all;
  for (const std::string& piece : pieces) {
    if (impl_->processor.IsByte(impl_->processor.PieceToId(piece))) {
      all += static_cast<char>(byte_named(piece));
    } else {
      all += piece;
    }
  }
  return all;
}

std::string Tokenizer::decode(const std::vector<int32_t>& ids) const {
  for (const int32_t id : ids) piece(id);  // throws if an id is out of range
  std::string text;
  check(impl_->processor.Decode(ids, &text));
  return as_one_line(text);
}

bool Tokenizer::spells(const std::vector<int32_t>& ids, std::string_view text) const {
  bool first = true;
  for (const int32_t id : ids) {
    const uint32_t begin = impl_->ends[static_cast<size_t>(id)], end = impl_->ends[static_cast<size_t>(id) + 1];
    std::string_view surface = std::string_view(impl_->surfaces).substr(begin, end - begin);
    if (!impl_->exact[static_cast<size_t>(id)]) return false;
    if (surface.empty()) continue;
    if (std::exchange(first, false) && surface.front() == ' ') surface.remove_prefix(1);
    if (!text.starts_with(surface)) return false;
    text.remove_prefix(surface.size());
  }
  return text.empty();
}

std::string Tokenizer::piece(int32_t id) const {
  if (id < 0 || id >= size()) fail(ErrorKind::internal, fmt::format("id {} is not in a vocabulary of {}", id, size()));
  return impl_->processor.IdToPiece(id);
}

int32_t Tokenizer::id_of(const std::string& piece) const {
  const int32_t id = impl_->processor.PieceToId(piece);
  return id < size() ? id : SpecialIds::unk;
}

bool Tokenizer::is_tag(int32_t id) const {
  const sentencepiece::SentencePieceProcessor& p = impl_->processor;
  return p.IsControl(id) && id != SpecialIds::bos && id != SpecialIds::eos && id != p.pad_id();
}

bool Tokenizer::is_padding(int32_t id) const { return id == impl_->processor.pad_id(); }

bool Tokenizer::is_byte(int32_t id) const { return impl_->bytes.at(static_cast<size_t>(id)); }

uint8_t Tokenizer::byte_of(int32_t id) const { return byte_named(piece(id)); }

bool same_pieces(const Tokenizer& a, const Tokenizer& b) {
  bool same = a.size() == b.size();
  for (int32_t id = 0; same && id < a.size(); ++id) same = a.piece(id) == b.piece(id);
  return same;
}

void check_tokenizer_files(const std::string& joint, const std::string& source, const std::string& target) {
  if (source.empty() != target.empty())
    fail(ErrorKind::usage, "only one of --source-tokenizer and --target-tokenizer is given: give both, or neither");
  if (!joint.empty() && !source.empty())
    fail(ErrorKind::usage,
         "--tokenizer cannot be combined with --source-tokenizer and --target-tokenizer: give one model for both "
         "sides, or one model per side");
}

}  // namespace weft
