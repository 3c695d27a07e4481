// data/tokenizer.h: text to pieces and back: SentencePiece (Kudo & Richardson 2018), trained or loaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

class Tokenizer {  // encode and decode are const and may be called by several threads
 public:
  explicit Tokenizer(const std::string& model_file);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;

  int64_t size() const;                                      // entries; ids 0 unk, 1 bos, 2 eos (data/batch.h)
  std::vector<int32_t> encode(std::string_view text) const;  // without bos and eos
  std::string decode(const std::vector<int32_t>& ids) const;
  std::string piece(int32_t id) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
