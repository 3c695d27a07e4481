// tests/launch/server/work_queue_test.cpp: which work is done together, and what a full or closed queue does; the text
// of the metrics.
#include "launch/server/work_queue.h"

#include <gtest/gtest.h>

#include <thread>

#include "launch/server/server_metrics.h"

namespace weft {
namespace {

struct SomeWork : Work {
  SomeWork(const std::string& of_kind, int64_t count, int64_t seconds = 1000) {
    kind = of_kind, sentences = count;
    deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  }
  void do_together(const std::vector<std::shared_ptr<Work>>&, ServerMetrics&) override {}
};
std::shared_ptr<Work> work(const std::string& kind, int64_t sentences, int64_t seconds = 1000) {
  return std::make_shared<SomeWork>(kind, sentences, seconds);
}

TEST(WorkQueue, TakesTheOldestWorkAndOthersOfItsKind) {
  WorkQueue queue(100);
  const std::shared_ptr<Work> first = work("a", 2), other = work("b", 1), second = work("a", 3), large = work("a", 9);
  for (const auto& w : {first, other, second, large}) EXPECT_TRUE(queue.add(w));
  EXPECT_EQ(queue.sentences(), 15);
  EXPECT_EQ(queue.take(10), (std::vector{first, second}));
  EXPECT_EQ(queue.take(10), std::vector{other});
  EXPECT_EQ(queue.take(1), std::vector{large}) << "alone, although it is larger";
  EXPECT_EQ(queue.sentences(), 0);
}

TEST(WorkQueue, RefusesWorkWhenItIsFull) {
  WorkQueue queue(10);
  EXPECT_TRUE(queue.add(work("a", 50))) << "alone, although it is larger";
  EXPECT_FALSE(queue.add(work("a", 1)));
  queue.take(1);
  EXPECT_TRUE(queue.add(work("a", 9)));
  EXPECT_TRUE(queue.add(work("a", 1)));
  EXPECT_FALSE(queue.add(work("a", 1)));
}

TEST(WorkQueue, DropsWorkAfterItsDeadline) {
  WorkQueue queue(10);
  std::future<std::string> answer;
  {
    const std::shared_ptr<Work> late = work("a", 4, -1);
    answer = late->answer.get_future();
    queue.add(late);
  }
  const std::shared_ptr<Work> next = work("b", 1);
  queue.add(next);
  EXPECT_EQ(queue.take(10), std::vector{next});
  EXPECT_EQ(queue.sentences(), 0);
  EXPECT_THROW(answer.get(), std::future_error);
}

TEST(WorkQueue, GivesTheRestAfterItWasClosed) {
  WorkQueue queue(10);
  const std::shared_ptr<Work> last = work("a", 1);
  queue.add(last);
  queue.close();
  EXPECT_FALSE(queue.add(work("a", 1)));
  EXPECT_EQ(queue.take(10), std::vector{last});
  EXPECT_TRUE(queue.take(10).empty());
}

TEST(WorkQueue, WakesTheThreadThatWaits) {
  WorkQueue queue(10);
  std::vector<size_t> taken;
  std::thread computing([&] {
    for (;;) {
      taken.push_back(queue.take(10).size());
      if (taken.back() == 0) return;
    }
  });
  queue.add(work("a", 1));
  queue.close();
  computing.join();
  EXPECT_EQ(taken, (std::vector<size_t>{1, 0}));
}

TEST(ServerMetrics, AreInPrometheusFormat) {
  ServerMetrics metrics;
  metrics.add_request("/v1/translate", 200, 0.02);
  metrics.add_request("/v1/translate", 200, 0.3);
  metrics.add_request("/v1/translate", 503, 100);
  metrics.add_batch(3, 10, 12, 0.25);
  const std::string text = metrics.text(7);
  for (const char* line : {
           "weft_requests_total{path=\"/v1/translate\",status=\"200\"} 2\n",
           "weft_requests_total{path=\"/v1/translate\",status=\"503\"} 1\n",
           "# TYPE weft_request_seconds histogram\n",
           "weft_request_seconds_bucket{le=\"0.01\"} 0\n",
           "weft_request_seconds_bucket{le=\"0.025\"} 1\n",
           "weft_request_seconds_bucket{le=\"0.5\"} 2\n",
           "weft_request_seconds_bucket{le=\"60\"} 2\n",
           "weft_request_seconds_bucket{le=\"+Inf\"} 3\n",
           "weft_request_seconds_count 3\n",
           "weft_sentences_total 3\n",
           "weft_source_tokens_total 10\n",
           "weft_target_tokens_total 12\n",
           "weft_model_seconds_total 0.25\n",
           "weft_waiting_sentences 7\n",
       })
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
}

}  // namespace
}  // namespace weft
