// data/subword/piece_splitter.cpp: implements PieceSplitter with a SentencePiece processor.
#include "data/subword/piece_splitter.h"

#include <sentencepiece_processor.h>

#include "data/atomic_file.h"
#include "tensor/error.h"

namespace weft {

PieceList load_sentencepiece(const std::string& model, const std::string& name,
                             sentencepiece::SentencePieceProcessor& processor) {
  PieceList list = read_pieces(model, name);  // refuses a model without pieces, which would make the library abort
  bool loaded = false;
  try {  // the library throws if a piece contains a NUL byte
    loaded = processor.LoadFromSerializedProto(model).ok();
  } catch (const std::exception&) {
  }
  if (!loaded || processor.GetPieceSize() != std::ssize(list.pieces))
    fail(ErrorKind::data, fmt::format("{} is not a SentencePiece model, or is damaged", name));
  return list;
}

void require_sentencepiece(const std::string& model, const std::string& name) {
  sentencepiece::SentencePieceProcessor processor;
  load_sentencepiece(model, name, processor);
}

PieceSplitter::PieceSplitter(const std::string& model_file) : PieceSplitter(read_file(model_file), model_file) {}
PieceSplitter::PieceSplitter(const std::string& model, const std::string& name)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  load_sentencepiece(model, name, *processor_);
}
PieceSplitter::~PieceSplitter() = default;
PieceSplitter::PieceSplitter(PieceSplitter&&) noexcept = default;

std::vector<std::string> PieceSplitter::split(std::string_view text) const {
  std::vector<std::string> pieces;
  const auto status = processor_->Encode({text.data(), text.size()}, &pieces);
  if (!status.ok()) fail(ErrorKind::data, fmt::format("SentencePiece: {}", status.error_message()));
  return pieces;
}

}  // namespace weft
