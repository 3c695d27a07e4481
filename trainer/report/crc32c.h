// trainer/report/crc32c.h: computes CRC-32C (Castagnoli), the checksum of TensorBoard's event files.
#pragma once

#include <boost/crc.hpp>
#include <cstdint>
#include <string_view>

namespace weft {

inline uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace weft
