// launch/server/server.cpp: routes, and the exchange between connections and the thread that computes.
#include "launch/server/server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "launch/server/page.h"
#include "tensor/clock.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr char kJson[] = "application/json; charset=utf-8";
constexpr int64_t kSentencesTogether = 256;  // of a batch
constexpr time_t kIdleSeconds = 5;           // a client that sends or reads nothing for this long is disconnected

struct HttpError {
  int status;
  std::string what;
};

std::string error_body(const std::string& what) {
  return nlohmann::json{{"error", what}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int status_of(const Error& error) { return error.kind() == ErrorKind::usage ? 400 : 500; }

}  // namespace

struct Server::Impl {
  std::vector<std::unique_ptr<ServedModel>> models;
  ServerLimits limits;
  WorkQueue queue;
  ServerMetrics metrics;
  std::map<std::string, std::string> methods;  // by path
  httplib::Server http;
  std::atomic<int64_t> num_answering = 0;  // whole requests
  std::atomic<double> last_needed = 0;     // when stop() was called, or a request was last answered

  ServedModel& model_named(const std::string& name) {
    if (name.empty()) return *models.front();
    for (const auto& model : models)
      if (model->name() == name) return *model;
    throw HttpError{404, fmt::format("there is no model \"{}\"; see v1/models", name)};
  }

  std::string wait_for(std::shared_ptr<Work> work, std::chrono::steady_clock::time_point arrival) {
    if (work->sentences > limits.queue)
      throw HttpError{400, fmt::format("the request has {} sentences, each sample included, but at most {} may wait "
                                       "(--queue): send fewer lines or samples at a time",
                                       work->sentences, limits.queue)};
    work->deadline = arrival + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                   std::chrono::duration<double>(limits.seconds));
    const auto deadline = work->deadline;
    std::future<std::string> answer = work->answer.get_future();
    if (!queue.add(std::move(work))) throw HttpError{503, "too many sentences are waiting: try again later"};
    if (answer.wait_until(deadline) != std::future_status::ready)
      throw HttpError{504, fmt::format("no answer within {:g} seconds", limits.seconds)};
    return answer.get();
  }

  // Answers with what `body` returns, or with an error.
  template <typename Body>
  void answer(const httplib::Request& request, httplib::Response& response, const char* type, const Body& body) {
    const double begin = monotonic_seconds();
    ++num_answering;
    try {
      response.set_content(body(), type);
    } catch (const HttpError& error) {
      fail(response, error.status, error.what);
    } catch (const Error& error) {
      fail(response, status_of(error), error.what());
    } catch (const std::future_error&) {  // the work was dropped at its deadline
      fail(response, 504, fmt::format("no answer within {:g} seconds", limits.seconds));
    } catch (const std::exception& error) {
      fail(response, 500, error.what());
    }
    last_needed = monotonic_seconds();
    --num_answering;
    metrics.add_request(request.path, response.status == -1 ? 200 : response.status, monotonic_seconds() - begin);
  }

  static void fail(httplib::Response& response, int status, const std::string& what) {
    response.status = status;
    if (status == 503) response.set_header("Retry-After", "1");
    response.set_content(error_body(what), kJson);
  }

  std::string model_list() const {
    std::vector<std::string> list;
    for (const auto& model : models) list.push_back(model->description());
    return fmt::format(R"({{"models":[{}],"limits":{{"lines":{},"line_bytes":{},"beam":{},"samples":{}}}}})",
                       fmt::join(list, ","), limits.lines, limits.line_bytes, limits.beam, limits.samples);
  }

  void add_routes();
  void add_error_texts();
  void add_limits(int64_t connections);
};

void Server::Impl::add_routes() {
  const auto get = [this](const char* path, const char* type, auto body) {
    methods[path] = "GET";
    http.Get(path, [this, type, body](const auto& request, auto& response) { answer(request, response, type, body); });
  };
  const auto post = [this](const char* path, auto work_of) {
    methods[path] = "POST";
    http.Post(path, [this, work_of](const httplib::Request& request, httplib::Response& response) {
      const auto arrival = std::chrono::steady_clock::now();
      answer(request, response, kJson, [&] {
        const RequestReader reader(request.body, limits);
        return wait_for(work_of(reader, model_named(reader.model())), arrival);
      });
    });
  };
  get("/", "text/html; charset=utf-8", [] { return std::string(serve_page()); });
  get("/v1/models", kJson, [this] { return model_list(); });
  get("/health", kJson, [] { return std::string(R"({"status":"ok"})"); });
  get("/metrics", "text/plain; version=0.0.4", [this] { return metrics.text(queue.sentences()); });
  post("/v1/translate", [](const RequestReader& reader, ServedModel& model) {
    return model.work_for(reader.translation(model.model().config().decode));
  });
  post("/v1/score", [](const RequestReader& reader, ServedModel& model) { return model.work_for(reader.pairs()); });
}

// Of errors that are found before a route is called.
void Server::Impl::add_error_texts() {
  http.set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;  // ours
    std::string what = "the request cannot be read";
    if (response.status == 413)
      what = "the body is too large, or larger than 8 KiB without Content-Type: application/json";
    if (response.status == 404) {
      what = fmt::format("there is no {}", request.path);
      if (const auto route = methods.find(request.path); route != methods.end()) {
        what = fmt::format("{} needs the method {}", request.path, route->second);
        response.status = 405;
        response.set_header("Allow", route->second);
      }
    }
    response.set_content(error_body(what), kJson);
  });
}

void Server::Impl::add_limits(int64_t connections) {
  http.new_task_queue = [connections] { return new httplib::ThreadPool(static_cast<size_t>(connections)); };
  http.set_payload_max_length(static_cast<size_t>(limits.body_bytes));
  http.set_read_timeout(kIdleSeconds);
  http.set_write_timeout(kIdleSeconds);
  http.set_keep_alive_timeout(kIdleSeconds);
}

Server::Server(std::vector<std::unique_ptr<ServedModel>> models, const ServerLimits& limits, int64_t connections)
    : impl_(new Impl{.models = std::move(models), .limits = limits, .queue = WorkQueue(limits.queue)}) {
  impl_->add_routes();
  impl_->add_error_texts();
  impl_->add_limits(connections);
}
Server::~Server() = default;

int Server::bind(const ServerAddress& address) {
  const int port = address.port == 0 ? impl_->http.bind_to_any_port(address.host)
                   : impl_->http.bind_to_port(address.host, static_cast<int>(address.port))
                       ? static_cast<int>(address.port)
                       : -1;
  if (port <= 0)
    fail(ErrorKind::io, fmt::format("cannot listen on {}:{}; --port 0 takes a free port", address.host, address.port));
  return port;
}

void Server::run(const std::function<void()>& on_ready) {
  std::atomic<bool> ended = false, stopped = false;
  std::thread connections([&] {
    stopped = impl_->http.listen_after_bind();  // returns after all connections have been answered
    ended = true;
    impl_->queue.close();
  });
  while (!impl_->http.is_running() && !ended) std::this_thread::yield();
  on_ready();
  for (;;) {
    const std::vector<std::shared_ptr<Work>> all = impl_->queue.take(kSentencesTogether);
    if (all.empty()) break;
    all.front()->do_together(all, impl_->metrics);
  }
  connections.join();
  if (!stopped) fail(ErrorKind::io, "the server cannot accept connections any longer");
}

void Server::stop() {
  impl_->last_needed = monotonic_seconds();
  impl_->http.stop();
}

bool Server::is_needed() const {
  const double most = std::max(impl_->limits.seconds, kIdleSeconds + 1.0);
  return impl_->num_answering > 0 || monotonic_seconds() - impl_->last_needed <= most;
}

}  // namespace weft
