// data/shards/corpus_verifier.cpp: verifies shards until finish() stops the thread or the thread finds damage.
#include "data/shards/corpus_verifier.h"

#include "tensor/error.h"

namespace weft {

CorpusVerifier::CorpusVerifier(std::vector<Corpus*> corpora)
    : corpora_(std::move(corpora)), thread_([this](const std::stop_token& stop) {
        try {
          for (Corpus* corpus : corpora_) corpus->verify_shards(stop);
        } catch (const Error& e) {
          const std::lock_guard lock(mutex_);
          damage_ = e.what();
        }
      }) {}

std::optional<std::string> CorpusVerifier::take_damage() {
  const std::lock_guard lock(mutex_);
  if (!damage_ || is_said_) return std::nullopt;
  is_said_ = true;
  return damage_;
}

void CorpusVerifier::finish() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  for (Corpus* corpus : corpora_) {
    if (damage_) corpus->verify_shards({});
    corpus->require_shards();
  }
}

}  // namespace weft
