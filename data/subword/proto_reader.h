// data/subword/proto_reader.h: reads the fields of a Protocol Buffers message, the format of SentencePiece's models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft {

inline constexpr uint64_t kNormalizer = 3;  // field of ModelProto (sentencepiece_model.proto)

struct ProtoField {
  uint64_t number = 0, value = 0;  // `value` of a field that is a number
  bool is_number = false;          // else `bytes`
  std::string_view bytes;          // content of a field that is text or a message
  std::string_view encoded;        // the whole field with its number
};

class ProtoReader {  // reads one field after the other; `bytes` must outlive it
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}
  bool is_broken() const { return is_broken_; }

  std::optional<ProtoField> next() {
    if (rest_.empty() || is_broken_) return std::nullopt;
    const std::string_view all = rest_;
    const uint64_t tag = varint();
    ProtoField field{.number = tag >> 3, .is_number = (tag & 7) != 2};
    switch (tag & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.value = fixed(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.value = fixed(4);
        break;
      default:
        is_broken_ = true;
    }
    if (is_broken_) return std::nullopt;
    field.encoded = all.substr(0, all.size() - rest_.size());
    return field;
  }

 private:
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) {
      is_broken_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  uint64_t fixed(size_t count) {
    uint64_t value = 0;
    const std::string_view bytes = take(count);
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    is_broken_ = true;
    return 0;
  }

  std::string_view rest_;
  bool is_broken_ = false;
};

}  // namespace weft
