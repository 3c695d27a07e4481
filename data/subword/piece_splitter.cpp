// data/subword/piece_splitter.cpp: implements PieceSplitter with a SentencePiece processor.
#include "data/subword/piece_splitter.h"

#include <sentencepiece_processor.h>

#include "data/atomic_file.h"
#include "tensor/error.h"

namespace weft {

void load_sentencepiece(const std::string& model, const std::string& name,
                        sentencepiece::SentencePieceProcessor& processor) {
  bool loaded = false;
  try {  // the library throws if a piece contains a NUL byte
    // An empty file parses as a model without pieces, and such a model would make the library end the process.
    loaded = !model.empty() && processor.LoadFromSerializedProto(model).ok();
  } catch (const std::exception&) {
  }
  if (!loaded) fail(ErrorKind::data, fmt::format("{} is not a SentencePiece model, or is damaged", name));
}

void require_sentencepiece(const std::string& model, const std::string& name) {
  sentencepiece::SentencePieceProcessor processor;
  load_sentencepiece(model, name, processor);
}

PieceSplitter::PieceSplitter(const std::string& model_file)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  load_sentencepiece(read_file(model_file), model_file, *processor_);
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
