// launch/commands/serve.cpp: `weft serve` loads models and answers HTTP requests until it is stopped.
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>

#include "launch/commands.h"
#include "launch/open_model.h"
#include "launch/options/options.h"
#include "launch/server/server.h"
#include "tensor/error.h"
#include "trainer/display/progress.h"

namespace weft {
namespace {

struct ServeRequest {
  ModelRequest model;
  std::vector<std::string> checkpoints;
  ServerAddress address;
  ServerLimits limits;
  int64_t connections = 64;
};

void check(const ServeRequest& r) {
  const auto at_least_1 = [](const char* name, auto value) {
    if (value < 1) fail(ErrorKind::usage, fmt::format("--{} must be at least 1, but is {}", name, value));
  };
  if (r.checkpoints.empty()) fail(ErrorKind::usage, "--checkpoint is missing");
  if (r.address.port < 0 || r.address.port > 65535)
    fail(ErrorKind::usage, fmt::format("--port must be between 0 and 65535, but is {}", r.address.port));
  at_least_1("connections", r.connections);
  at_least_1("max-lines", r.limits.lines);
  at_least_1("max-line-bytes", r.limits.line_bytes);
  at_least_1("max-body-bytes", r.limits.body_bytes);
  at_least_1("max-beam", r.limits.beam);
  at_least_1("max-samples", r.limits.samples);
  at_least_1("queue", r.limits.queue);
  if (!(r.limits.seconds > 0 && r.limits.seconds <= 86'400))
    fail(ErrorKind::usage, fmt::format("--timeout must be above 0 and at most 86400, but is {}", r.limits.seconds));
}

bool parse(const std::vector<std::string>& args, ServeRequest& r, Options& options) {
  options.add(
      "checkpoint", r.checkpoints,
      "folder of a run or of a checkpoint, or NAME=FOLDER; may be repeated; requests choose a model by its name");
  options.add("host", r.address.host, "address to listen on; 0.0.0.0 = all, so that other machines can connect");
  options.add("port", r.address.port, "port to listen on; 0 = any free one, which is printed");
  r.model.add_settings(options);
  options.add("connections", r.connections, "connections that are answered at the same time; others wait");
  options.add("queue", r.limits.queue, "sentences that may wait for a model; further requests get status 503");
  options.add("timeout", r.limits.seconds, "seconds after which a request without an answer gets status 504");
  options.add("max-lines", r.limits.lines, "lines of a request");
  options.add("max-line-bytes", r.limits.line_bytes, "bytes of a line");
  options.add("max-body-bytes", r.limits.body_bytes, "bytes of a request");
  options.add("max-beam", r.limits.beam, "largest beam that a request may ask for");
  options.add("max-samples", r.limits.samples, "samples per line that a request may ask for");
  if (!options.parse(args)) return false;
  check(r);
  return true;
}

// Stops the server at the first SIGTERM or SIGINT. Ends the program at the second one, if the server does not run yet,
// or if the stopped server is not needed any longer. All threads that are started later ignore these signals.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGTERM, SIGINT}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::thread([this] { wait(); }).detach();
  }
  void set_server(Server* server) {  // null: none is running
    const std::scoped_lock lock(mutex_);
    server_ = server;
  }

 private:
  void wait() {
    int signal = 0;
    sigwait(&signals_, &signal);
    {
      const std::scoped_lock lock(mutex_);
      if (server_ == nullptr) _exit(128 + signal);
      print_note("weft: stopping after the requests that have arrived; a second signal ends the server at once\n");
      server_->stop();
    }
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    do {
      signal = sigtimedwait(&signals_, nullptr, &second);
    } while (signal < 0 && is_needed());
    if (signal < 0) print_note("weft: stopped, because no whole request was left to answer\n");
    _exit(signal < 0 ? 0 : 128 + signal);
  }
  bool is_needed() {
    const std::scoped_lock lock(mutex_);
    return server_ == nullptr || server_->is_needed();
  }

  sigset_t signals_;
  std::mutex mutex_;
  Server* server_ = nullptr;
};

struct NamedCheckpoint {
  std::string name, path;
};
NamedCheckpoint named(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == 0) fail(ErrorKind::usage, fmt::format("--checkpoint {} has no name before '='", text));
  if (equals != std::string::npos && !std::filesystem::exists(text))
    return {.name = text.substr(0, equals), .path = text.substr(equals + 1)};
  const std::filesystem::path path = std::filesystem::absolute(text).lexically_normal();
  return {.name = path.has_filename() ? path.filename() : path.parent_path().filename(), .path = text};
}

}  // namespace

int run_serve(const CommandContext& context) {
  ServeRequest request;
  Options options(
      "serve --checkpoint PATH [--checkpoint NAME=PATH ...] [options]\n\n"
      "Answers HTTP requests for translations and scores, with a page to try the models; "
      "docs/formats/http-requests.md lists the requests.\n\n"
      "  weft serve --checkpoint en-de=runs/mine");
  if (!parse(context.args, request, options)) return 0;
  static StopSignals signals;
  const auto alone = make_single_communicator();
  std::vector<CheckpointLease> leases;
  std::vector<std::unique_ptr<Mesh>> meshes;
  std::vector<std::unique_ptr<ServedModel>> models;
  for (const std::string& text : request.checkpoints) {
    const NamedCheckpoint checkpoint = named(text);
    for (const auto& other : models)
      if (other->name() == checkpoint.name)
        fail(ErrorKind::usage,
             fmt::format("two models have the name {}: give --checkpoint NAME=PATH", checkpoint.name));
    leases.push_back(find_checkpoint(*alone, checkpoint.path));
    const RunConfig config = config_for_use(leases.back().folder, {}, /*ranks=*/1);
    meshes.emplace_back(new Mesh(mesh_for_use(request.model, config, *alone)));
    models.push_back(std::make_unique<ServedModel>(checkpoint.name,
                                                   request.model.load(leases.back().folder, config, *meshes.back())));
    if (!request.model.quiet) print_note("weft: {} is {}\n", checkpoint.name, leases.back().folder);
  }
  Server server(std::move(models), request.limits, request.connections);
  const int port = server.bind(request.address);
  server.run([&] {
    signals.set_server(&server);
    fmt::print("http://{}:{}/\n", request.address.host, port);
    std::fflush(stdout);
  });
  signals.set_server(nullptr);
  return 0;
}

}  // namespace weft
