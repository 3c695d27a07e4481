// launch/commands/inspect_positions.cpp: `weft inspect positions`: draws the vectors that are added to
// embeddings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "launch/commands/inspect.h"
#include "launch/options/options.h"
#include "model/layers/positions.h"
#include "tensor/error.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/display/heat_map.h"

namespace weft {
namespace {

constexpr int64_t kImageWidth = 1100;    // of the cells, about
constexpr int64_t kMaxPositions = 2000;  // of a drawing
constexpr int64_t kMaxOffset = 1'000'000;

struct PositionsRequest {
  std::vector<std::string> paths;
  std::string output;
  int64_t count = 64;
  bool count_given = false;
  bool target = false;
  ModelConfig model;
};

// Refuses options that have no effect.
void check_used(const Options& options, Positions positions) {
  if (is_rotary(positions))
    fail(ErrorKind::usage, fmt::format("model.positions = {} has no table to draw: queries and keys are rotated",
                                       print_value(positions)));
  if (positions != Positions::learned) {
    if (options.given("target"))
      fail(ErrorKind::usage, "--target chooses one of two learned tables; sinusoids are the same on both sides");
    return;
  }
  for (const char* name : {"width", "offset"})
    if (options.given(name))
      fail(ErrorKind::usage, fmt::format("--{} is for sinusoids: a learned table is drawn as it is", name));
}

bool parse(const std::vector<std::string>& args, PositionsRequest& r, Options& options) {
  options.positional("PATH", r.paths, "a .cfg file, or a run's or checkpoint's folder; none: the paper's base model");
  options.add("output", r.output, "the SVG file; empty: standard output");
  options.add("count", r.count, "positions, from the first token on");
  options.add("layout", r.model.positions, "interleaved, halves, tensor2tensor, learned (of a checkpoint)");
  options.add("width", r.model.width, "dimensions");
  options.add("offset", r.model.position_offset, "position of the first token");
  options.add("target", r.target, "learned positions: draw the target side's table");
  if (!options.parse(args)) return false;
  if (r.paths.size() > 1) fail(ErrorKind::usage, "give one PATH: a drawing shows one model's positions");
  r.count_given = options.given("count");
  return true;
}

void check(const PositionsRequest& r, const Options& options) {
  if (r.count < 1 || r.count > kMaxPositions)
    fail(ErrorKind::usage, fmt::format("count = {}: give 1 to {}", r.count, kMaxPositions));
  if (r.model.width < 1 || r.model.width > 4 * kImageWidth)
    fail(ErrorKind::usage, fmt::format("width = {}: give 1 to {}", r.model.width, 4 * kImageWidth));
  if (r.model.position_offset < -kMaxOffset || r.model.position_offset > kMaxOffset)
    fail(ErrorKind::usage, fmt::format("offset = {}: give -{} to {}", r.model.position_offset, kMaxOffset, kMaxOffset));
  check_used(options, r.model.positions);
}

std::vector<float> sinusoids(const PositionsRequest& r) {
  ParamStore none(0, 1);
  const PositionEncoding tables(none, r.model, r.count);
  const float* rows = tables.source().rows().ptr<float>();
  return {rows, rows + r.count * r.model.width};
}

// The first rows of a learned table; sets the size in `r`.
std::vector<float> learned(const std::string& checkpoint, PositionsRequest& r) {
  if (checkpoint.empty())
    fail(ErrorKind::usage, "learned positions are in a checkpoint: give the folder of one that has them");
  const SafetensorsFile file(checkpoint + "/model.safetensors");
  const std::string name = r.target ? "target_positions.weight" : "source_positions.weight";
  const auto it = file.entries().find(name);
  if (it == file.entries().end() || it->second.shape.size() != 2)
    fail(ErrorKind::checkpoint, fmt::format("{} has no matrix {}", file.path(), name));
  const int64_t rows = it->second.shape[0];
  r.model.width = it->second.shape[1];
  r.model.position_offset = 0;
  if (r.count_given && r.count > rows)
    fail(ErrorKind::usage, fmt::format("count = {}: the learned table {} has {} positions", r.count, name, rows));
  r.count = std::min(r.count, rows);
  std::vector<float> values(static_cast<size_t>(rows * r.model.width));
  file.read(name, values.data());
  values.resize(static_cast<size_t>(r.count * r.model.width));
  return values;
}

// Labels every `step`-th number; the others are empty.
std::vector<std::string> ticks(int64_t first, int64_t count, int64_t step) {
  std::vector<std::string> labels;
  for (int64_t i = first; i < first + count; ++i) labels.push_back(i % step == 0 ? fmt::format("{}", i) : "");
  return labels;
}

int64_t tick_step(int64_t count) {  // 1, 2, 4, 8, ...: about 16 labels
  int64_t step = 1;
  while (count / step > 20) step *= 2;
  return step;
}

std::string draw(const PositionsRequest& r, std::vector<float> values) {
  const bool is_learned = r.model.positions == Positions::learned;
  double most = is_learned ? 0 : 1;
  for (const float v : values)
    if (std::isfinite(v)) most = std::max(most, std::abs(static_cast<double>(v)));
  if (most == 0) most = 1;
  const auto cell = static_cast<int>(std::clamp<int64_t>(kImageWidth / r.model.width, 1, 16));
  const std::string kind = is_learned ? fmt::format("learned, {} side", r.target ? "target" : "source")
                                      : "sinusoids, " + print_value(r.model.positions);
  return to_svg({.title = fmt::format("positional encoding: {}, width {}", kind, r.model.width),
                 .row_axis = "position",
                 .column_axis = "dimension",
                 .rows = ticks(r.model.position_offset, r.count, tick_step(r.count)),
                 .columns = ticks(0, r.model.width, tick_step(r.model.width)),
                 .values = std::move(values),
                 .low = -most,
                 .high = most,
                 .colours = HeatMap::Colours::diverging,
                 .cell_width = cell,
                 .cell_height = static_cast<int>(std::clamp<int64_t>(640 / r.count, 4, 16))});
}

}  // namespace

int run_inspect_positions(const CommandContext& context) {
  PositionsRequest request;
  Options options("inspect positions [PATH] [options] > FILE.svg");
  if (!parse(context.args, request, options)) return 0;
  FoundConfig found;
  if (!request.paths.empty()) {
    found = find_config(request.paths.front());
    request.model = found.config.model;
    options.set_given();
  }
  check(request, options);
  if (!request.output.empty()) {
    require_replaceable("output", request.output, kSvgTag);
    prepare_output(request.output);
  }
  std::vector<float> values =
      request.model.positions == Positions::learned ? learned(found.checkpoint, request) : sinusoids(request);
  const std::string svg = draw(request, std::move(values));
  if (request.output.empty()) {
    fmt::print("{}", svg);
  } else {
    write_file_atomically(request.output, svg);
  }
  return 0;
}

}  // namespace weft
