// launch/server/server.h: answers HTTP requests with models (docs/formats/http-requests.md), through cpp-httplib.
//
// Each connection has a thread, which reads the request, checks it, adds it to a queue, and waits for the answer. The
// thread that calls run() does the work of the queue, so that all computations happen in one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/server/request.h"
#include "launch/server/served_model.h"

namespace weft {

struct ServerAddress {
  std::string host = "127.0.0.1";
  int64_t port = 8080;  // 0: any free one
};

class Server {
 public:
  // `connections` is the number of connections that are answered at the same time; others wait.
  Server(std::vector<std::unique_ptr<ServedModel>> models, const ServerLimits& limits, int64_t connections);
  ~Server();

  int bind(const ServerAddress& address);  // returns the port; throws an Error of kind io
  // Calls `on_ready` when requests are accepted. Runs until stop(), then answers the requests that are being read or
  // wait, and returns. Throws an Error of kind io if connections can no longer be accepted.
  void run(const std::function<void()>& on_ready);
  // These may be called by any thread, from on_ready on.
  void stop();
  // After stop(): false if no whole request has been there for ServerLimits::seconds. What is left are clients that
  // have not sent theirs, or a batch whose clients have gone.
  bool is_needed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
