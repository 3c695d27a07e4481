// data/sha256.h: computes the SHA-256 of bytes, files and open descriptors, as lower-case hex.
//
// The digests in manifests detect accidents, such as a damaged or wrong file, but not attacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace weft {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;

  void update(const void* bytes, size_t count);
  std::string hex();               // returns 64 digits; ends the computation
  std::string hex_so_far() const;  // the same for the bytes so far; more may follow

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string sha256_of(std::string_view bytes);
uint64_t sha256_start(std::string_view bytes);        // the first 64 bits of the digest
std::string sha256_of_file(const std::string& path);  // throws a data or io Error if the file cannot be read

// Digests the complete file of `descriptor` without moving the descriptor's position. Messages contain `name`.
std::string sha256_of_descriptor(int descriptor, const std::string& name);

}  // namespace weft
