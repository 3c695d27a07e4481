// trainer/report/protobuf.h: writes the part of the Protocol Buffers wire format that TensorBoard's events need.
//
// Weft writes four small messages and reads none. For this purpose, libprotobuf with its compiler and generated code
// would be too large a dependency.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

class ProtoMessage {
 public:
  ProtoMessage& integer(int field, uint64_t value) { return tag(field, 0).varint(value); }
  ProtoMessage& real(int field, double value) { return tag(field, 1).little_endian(std::bit_cast<uint64_t>(value), 8); }
  ProtoMessage& real(int field, float value) { return tag(field, 5).little_endian(std::bit_cast<uint32_t>(value), 4); }
  ProtoMessage& bytes(int field, std::string_view value) {  // also for strings
    tag(field, 2).varint(value.size()).bytes_ += value;
    return *this;
  }
  ProtoMessage& message(int field, const ProtoMessage& value) { return bytes(field, value.bytes_); }

  const std::string& str() const { return bytes_; }

 private:
  ProtoMessage& tag(int field, uint64_t wire_type) { return varint(static_cast<uint64_t>(field) << 3 | wire_type); }
  ProtoMessage& varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  ProtoMessage& little_endian(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(value >> 8 * i & 0xff);
    return *this;
  }

  std::string bytes_;
};

}  // namespace weft
