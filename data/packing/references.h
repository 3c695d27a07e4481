// data/packing/references.h: keeps the raw targets of a corpus for validation, in kReferencesFile.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "data/atomic_file.h"
#include "data/packing/pack_folder.h"
#include "data/packing/packer.h"
#include "data/sha256.h"

namespace weft {

// Only a small corpus whose pairs are in the order of the text has raw targets. Validation compares translations with
// them.
class References {
 public:
  explicit References(const PackOptions& o)
      : wanted_(!o.shuffle && o.documents == 0 && o.variants.count == 0 && o.existing != ExistingCorpus::extend) {}

  std::function<void(std::string_view)> sink() {
    if (!wanted_) return {};
    return [this](std::string_view target) {
      if (++num_lines_ <= kMaxLines) text_.append(target).push_back('\n');
    };
  }
  // Writes the file and returns its digest, or "" if the corpus is too large or the text is not wanted.
  std::string write(const PackFolder& folder) const {
    if (!wanted_ || num_lines_ > kMaxLines) return "";
    write_file_atomically(folder.working(kReferencesFile), text_);
    return sha256_of(text_);
  }

 private:
  static constexpr int64_t kMaxLines = 100'000;
  bool wanted_;
  int64_t num_lines_ = 0;
  std::string text_;
};

inline void remove_references(const std::string& folder, const Manifest& before) {
  std::error_code ignored;
  if (!before.references_sha256.empty())
    std::filesystem::remove(std::filesystem::path(folder) / kReferencesFile, ignored);
}

}  // namespace weft
