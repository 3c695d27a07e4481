// launch/server/server_metrics.h: what `weft serve` counts, in the text format of Prometheus (version 0.0.4).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace weft {

class ServerMetrics {  // may be used by several threads
 public:
  void add_request(const std::string& path, int status, double seconds);  // from arrival to answer
  void add_batch(int64_t sentences, int64_t source_tokens, int64_t target_tokens, double seconds);
  std::string text(int64_t waiting_sentences) const;

 private:
  static constexpr std::array kBounds{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0};

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;
  std::array<int64_t, kBounds.size() + 1> latencies_{};  // of answered requests; the last one is above all bounds
  double seconds_ = 0, model_seconds_ = 0;
  int64_t batches_ = 0, sentences_ = 0, source_tokens_ = 0, target_tokens_ = 0;
};

}  // namespace weft
