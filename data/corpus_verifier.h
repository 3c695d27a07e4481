// data/corpus_verifier.h: checks the digests of corpora's shards in a thread, before another thread reads them.
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

  // Returns the first damaged or missing file that the thread has found, once.
  std::optional<std::string> take_damage();

  // Ends the thread, however far it has come. Throws an Error of kind data or io if a file is missing, has been
  // replaced by another one, or was found damaged and still is.
  void finish();

 private:
  std::vector<Corpus*> corpora_;
  std::mutex mutex_;
  std::optional<std::string> damage_;
  bool is_said_ = false;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace weft
