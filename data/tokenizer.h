// data/tokenizer.h: converts text to tokens and back with a SentencePiece model (Kudo & Richardson 2018).
//
// The constructor throws a data Error if the model is unreadable, or if its ids 0, 1 and 2 are not unknown, begin and
// end of sentence. data/subword/train_tokenizer.h trains models.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class Tokenizer {  // several threads may call encode and decode
 public:
  explicit Tokenizer(const std::string& model_file);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  int64_t size() const;  // number of entries; ids 0, 1, 2 are unk, bos, eos (batch.h)
  // Returns the ids without bos and eos. Adjacent unknown characters are one token: unk, or an unused piece with their
  // text, if there is one (trainer/import/foreign_vocabulary.h).
  std::vector<int32_t> encode(std::string_view text) const;
  // Returns the text that the model would segment: normalized by the model's rules, with U+2581 for each space.
  std::string normalise(std::string_view text) const;
  // Returns one line of text: a control character or line break in the decoded text becomes a space.
  std::string decode(const std::vector<int32_t>& ids) const;
  // True only if the pieces spell exactly this text, apart from tags. May be false although decode(ids) == text.
  bool spells(const std::vector<int32_t>& ids, std::string_view text) const;
  std::string piece(int32_t id) const;
  int32_t id_of(const std::string& piece) const;  // returns unk if there is no such piece
  bool is_tag(int32_t id) const;  // true for control pieces other than bos, eos and padding (data/tags.h)
  bool is_padding(int32_t id) const;
  bool is_byte(int32_t id) const;     // true for pieces that stand for one byte (byte fallback)
  uint8_t byte_of(int32_t id) const;  // REQUIRES: is_byte(id)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns true if the ids of both tokenizers have the same meaning, as for a joint vocabulary.
bool same_pieces(const Tokenizer& a, const Tokenizer& b);

// Throws a usage Error unless a command got one model for both sides, one model per side, or no model.
void check_tokenizer_files(const std::string& joint, const std::string& source, const std::string& target);

}  // namespace weft
