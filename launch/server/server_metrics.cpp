// launch/server/server_metrics.cpp: counts under one mutex.
#include "launch/server/server_metrics.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft {

void ServerMetrics::add_request(const std::string& path, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{path, status}];
  ++latencies_[static_cast<size_t>(std::ranges::lower_bound(kBounds, seconds) - kBounds.begin())];
  seconds_ += seconds;
}

void ServerMetrics::add_batch(int64_t sentences, int64_t source_tokens, int64_t target_tokens, double seconds) {
  const std::lock_guard lock(mutex_);
  ++batches_;
  sentences_ += sentences;
  source_tokens_ += source_tokens;
  target_tokens_ += target_tokens;
  model_seconds_ += seconds;
}

std::string ServerMetrics::text(int64_t waiting_sentences) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  const auto family = [&](const char* name, const char* type, const char* help) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  };
  const auto single = [&](const char* name, const char* type, const char* help, double value) {
    family(name, type, help);
    text += fmt::format("{} {}\n", name, value);
  };
  family("weft_requests_total", "counter", "Answered requests by path and HTTP status.");
  for (const auto& [key, count] : requests_)
    text += fmt::format("weft_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, count);
  family("weft_request_seconds", "histogram", "Time from the arrival of a request to its answer.");
  int64_t count = 0;
  for (size_t i = 0; i < kBounds.size(); ++i)
    text += fmt::format("weft_request_seconds_bucket{{le=\"{}\"}} {}\n", kBounds[i], count += latencies_[i]);
  count += latencies_.back();
  text += fmt::format(
      "weft_request_seconds_bucket{{le=\"+Inf\"}} {0}\nweft_request_seconds_sum {1}\n"
      "weft_request_seconds_count {0}\n",
      count, seconds_);
  single("weft_batches_total", "counter", "Batches that a model processed.", static_cast<double>(batches_));
  single("weft_sentences_total", "counter", "Sentences, each sample counted.", static_cast<double>(sentences_));
  single("weft_source_tokens_total", "counter", "Tokens of sources.", static_cast<double>(source_tokens_));
  single("weft_target_tokens_total", "counter", "Tokens predicted or scored.", static_cast<double>(target_tokens_));
  single("weft_model_seconds_total", "counter", "Time in which a model processed batches.", model_seconds_);
  single("weft_waiting_sentences", "gauge", "Sentences that wait for a model.", static_cast<double>(waiting_sentences));
  return text;
}

}  // namespace weft
