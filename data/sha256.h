// data/sha256.h: SHA-256 of bytes, of files and of open descriptors, as lower-case hex.
//
// The digests in manifests detect accidents (damage, a wrong file), not attacks.
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
  std::string hex();  // returns 64 digits; ends the computation

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string sha256_of(std::string_view bytes);
uint64_t sha256_start(std::string_view bytes);        // the first 64 bits of the digest
std::string sha256_of_file(const std::string& path);  // throws an io Error if it cannot be read

// Digests the whole file of `descriptor`, from its start, without moving its position. Error messages contain `name`.
std::string sha256_of_descriptor(int descriptor, const std::string& name);

}  // namespace weft
