// data/tokenizer.h: converts text to tokens and back with a SentencePiece model (Kudo & Richardson 2018).
//
// A model that is unreadable, or whose ids 0, 1, 2 are not unknown, begin and end of sentence, throws a data Error.
// data/packing/train_tokenizer.h trains one.
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

  int64_t size() const;                                      // entries; ids 0 unk, 1 bos, 2 eos (data/batch.h)
  std::vector<int32_t> encode(std::string_view text) const;  // without bos and eos
  // Returns the text before segmentation: normalized by the model's rules, with U+2581 for spaces.
  std::string normalise(std::string_view text) const;
  // Returns one line of text. Control characters and line breaks spelled by the ids become spaces.
  std::string decode(const std::vector<int32_t>& ids) const;
  std::string piece(int32_t id) const;
  int32_t id_of(const std::string& piece) const;  // returns unk if there is none
  bool is_tag(int32_t id) const;   // a control piece except bos, eos and padding: it stands for no text (data/tags.h)
  bool is_byte(int32_t id) const;  // a byte of a character that the vocabulary lacks (byte fallback)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Checks a command's models: one for both sides, one per side, or none. Anything else throws a usage Error.
void check_tokenizer_files(const std::string& joint, const std::string& source, const std::string& target);

}  // namespace weft
