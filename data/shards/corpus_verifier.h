// data/shards/corpus_verifier.h: checks the digests of the corpora's shards in a separate thread, before the shards are
// read.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "data/corpus.h"

namespace weft {

class CorpusVerifier {
 public:
  explicit CorpusVerifier(std::vector<Corpus*> corpora);  // starts the thread

  // Returns the message about the first damaged or missing file, once the thread has found one, and only in one call.
  std::optional<std::string> take_damage();

  // Stops the thread, even if it has not finished. Throws an Error of kind data or io if a file is missing, has been
  // replaced, or is still damaged.
  void finish();

 private:
  std::vector<Corpus*> corpora_;
  std::mutex mutex_;
  std::optional<std::string> damage_;
  bool is_said_ = false;
  std::jthread thread_;  // the last member, because it uses the others
};

}  // namespace weft
