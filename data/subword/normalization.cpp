// data/subword/normalization.cpp: takes the rules from models that SentencePiece trains on a single letter, because its
// interface does not give access to them.
#include "data/subword/normalization.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <vector>

#include "data/subword/line_iterator.h"
#include "data/subword/proto_reader.h"
#include "tensor/error.h"

namespace weft {
namespace {

std::string smallest_model(Normalization rule) {
  const std::vector<std::string> lines = {"a"};
  LineIterator iterator(lines);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"model_type", "char"},
                                                                  {"vocab_size", "5"},  // three special ids, ▁ and a
                                                                  {"normalization_rule_name", name_of_enum(rule)},
                                                                  {"minloglevel", "2"}},
                                                                 &iterator, &model);
  if (!status.ok()) fail(ErrorKind::internal, fmt::format("SentencePiece: {}", status.error_message()));
  return model;
}

std::string normalizer_field(Normalization rule) {
  const std::string model = smallest_model(rule);
  ProtoReader fields(model);
  while (const auto field = fields.next())
    if (field->number == kNormalizer) return std::string(field->encoded);
  fail(ErrorKind::internal, "SentencePiece made a model without a normalization rule");
}

}  // namespace

struct Normalizer::Impl {
  sentencepiece::SentencePieceProcessor processor;
};

Normalizer::Normalizer(Normalization rule) {
  if (rule == Normalization::identity) return;
  impl_ = std::make_unique<Impl>();
  const auto status = impl_->processor.LoadFromSerializedProto(smallest_model(rule));
  if (!status.ok()) fail(ErrorKind::internal, fmt::format("SentencePiece: {}", status.error_message()));
}
Normalizer::~Normalizer() = default;

// A piece that is not in the vocabulary is the normalized text itself.
std::string Normalizer::operator()(std::string_view line) const {
  constexpr std::string_view kSpace = "\u2581";
  if (!impl_) return std::string(line);
  std::vector<std::string> pieces;
  const auto status = impl_->processor.Encode({line.data(), line.size()}, &pieces);
  if (!status.ok()) fail(ErrorKind::data, fmt::format("SentencePiece: {}", status.error_message()));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  for (size_t at = 0; (at = text.find(kSpace, at)) != std::string::npos;) text.replace(at, kSpace.size(), " ");
  return text.starts_with(' ') ? text.substr(1) : text;
}

std::string with_normalization(std::string_view model, Normalization rule) {
  std::string changed;
  ProtoReader fields(model);
  while (const auto field = fields.next())
    field->number == kNormalizer ? changed += normalizer_field(rule) : changed += field->encoded;
  return changed;
}

}  // namespace weft
