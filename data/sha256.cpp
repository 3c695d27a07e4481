// data/sha256.cpp: computes SHA-256 with OpenSSL's EVP interface, which uses the processor's SHA instructions if any.
#include "data/sha256.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "data/regular_file.h"
#include "tensor/error.h"

namespace weft {

struct Sha256::Impl {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~Impl() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : impl_(std::make_unique<Impl>()) {
  require(impl_->context && EVP_DigestInit_ex(impl_->context, EVP_sha256(), nullptr) == 1, ErrorKind::internal,
          "OpenSSL does not provide SHA-256");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;

void Sha256::update(const void* bytes, size_t count) {
  require(EVP_DigestUpdate(impl_->context, bytes, count) == 1, ErrorKind::internal, "SHA-256 failed");
}

std::string Sha256::hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(impl_->context, digest, &size) == 1, ErrorKind::internal, "SHA-256 failed");
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string Sha256::hex_so_far() const {
  Sha256 copy;
  require(EVP_MD_CTX_copy_ex(copy.impl_->context, impl_->context) == 1, ErrorKind::internal, "SHA-256 failed");
  return copy.hex();
}

std::string sha256_of(std::string_view bytes) {
  Sha256 sha;
  sha.update(bytes.data(), bytes.size());
  return sha.hex();
}

uint64_t sha256_start(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  require(EVP_Digest(bytes.data(), bytes.size(), digest, nullptr, EVP_sha256(), nullptr) == 1, ErrorKind::internal,
          "SHA-256 failed");
  uint64_t start = 0;
  for (int i = 0; i < 8; ++i) start = start << 8 | digest[i];
  return start;
}

std::string sha256_of_descriptor(int descriptor, const std::string& name) {
  Sha256 sha;
  std::vector<char> buffer(1 << 20);
  for (off_t position = 0;;) {
    const ssize_t got = pread(descriptor, buffer.data(), buffer.size(), position);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorKind::io, fmt::format("cannot read {}: {}", name, std::strerror(errno)));
    if (got == 0) return sha.hex();
    sha.update(buffer.data(), static_cast<size_t>(got));
    position += got;
  }
}

std::string sha256_of_file(const std::string& path) {
  return sha256_of_descriptor(open_regular_file(path).get(), path);
}

}  // namespace weft
