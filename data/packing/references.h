// data/packing/references.h: keeps the raw targets of a corpus for validation, in kReferencesFile.
#pragma once

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
      if (wanted_) text_.append(target).push_back('\n');
      if (++num_lines_ > kMaxLines || text_.size() > kMaxBytes) wanted_ = false, text_ = {};
    };
  }
  std::string write(const PackFolder& folder) const {  // returns the file's digest, or "" if there is no file
    if (!wanted_) return "";
    write_file_atomically(folder.working(kReferencesFile), text_);
    return sha256_of(text_);
  }

 private:
  static constexpr int64_t kMaxLines = 100'000;
  static constexpr size_t kMaxBytes = 64 << 20;  // of memory
  bool wanted_;
  int64_t num_lines_ = 0;
  std::string text_;
};

}  // namespace weft
