// tests/fuzz/target.h: what fuzz targets share. A target is a program with LLVMFuzzerTestOneInput, which feeds bytes
// to one reader of files: libFuzzer calls it (tests/fuzz/run), or tests/fuzz/replay.cpp with the files of a folder.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "tensor/error.h"
#include "tests/support/temporary_folder.h"

namespace weft::fuzz {

// Input may be refused by an Error of one line that blames the input. Anything else ends the program as a failure.
template <typename Read>
int feed(const uint8_t* data, size_t size, Read&& read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& refusal) {
    const std::string_view message = refusal.what();
    const bool one_line = message.find_first_of("\n\r\x1b") == std::string_view::npos;
    if (refusal.kind() != ErrorKind::internal && one_line) return 0;
    std::fprintf(stderr, "not a clear refusal: %s\n", refusal.what());
    std::abort();
  }
  return 0;
}

// Discards what readers print on standard output. Returns 0, as LLVMFuzzerInitialize does.
inline int without_output() { return std::freopen("/dev/null", "w", stdout) == nullptr; }

// Returns a folder for readers that take a folder or a path. tests/fuzz/run keeps temporary files in memory.
inline const testing::TemporaryFolder& folder() {
  static const testing::TemporaryFolder one;
  return one;
}

inline std::string file(const std::string& name, std::string_view bytes) {  // its path
  std::ofstream(folder() / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return folder() / name;
}

}  // namespace weft::fuzz
