// trainer/report/tensorboard.cpp: scalars, texts and pictures of each kind of record, framed with checksums.
#include "trainer/report/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tensor/error.h"
#include "trainer/report/crc32c.h"
#include "trainer/report/heat_map.h"
#include "trainer/report/png.h"
#include "trainer/report/protobuf.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kCell = 14;  // pixels of a weight
constexpr const char* kNameBegin = "events.out.tfevents.";
constexpr const char* kNameEnd = ".weft";

std::string little_endian(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}

std::string masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return little_endian(static_cast<uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8u), 4);
}

std::string framed(const ProtoMessage& event) {
  const std::string length = little_endian(event.str().size(), 8);
  return length + masked_crc(length) + event.str() + masked_crc(event.str());
}

// Text that TensorBoard's Markdown shows as it is.
std::string plain(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<' || c == '&') {
      escaped += c == '<' ? "&lt;" : "&amp;";
      continue;
    }
    if (std::string_view("\\`*_{}[]#|~>").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code(const std::string& text) {
  std::string indented = "    ";
  for (const char c : text) indented += c == '\n' ? "\n    " : std::string(1, c);
  return indented;
}

class Summary {  // the values of one event
 public:
  void scalar(const std::string& tag, const Json& value) {
    if (value.is_number()) add(ProtoMessage().bytes(1, tag).real(2, value.get<float>()));  // null: was not finite
  }
  void text(const std::string& tag, const std::string& markdown) {
    constexpr uint64_t kString = 7, kTensorClass = 2;  // DT_STRING, DATA_CLASS_TENSOR
    const ProtoMessage metadata = ProtoMessage().message(1, ProtoMessage().bytes(1, "text")).integer(4, kTensorClass);
    const ProtoMessage tensor = ProtoMessage().integer(1, kString).message(2, {}).bytes(8, markdown);  // of rank 0
    add(ProtoMessage().bytes(1, tag).message(8, tensor).message(9, metadata));
  }
  void picture(const std::string& tag, int64_t width, int64_t height, const std::string& png) {
    constexpr uint64_t kRgb = 3;
    add(ProtoMessage().bytes(1, tag).message(4, ProtoMessage()
                                                    .integer(1, static_cast<uint64_t>(height))
                                                    .integer(2, static_cast<uint64_t>(width))
                                                    .integer(3, kRgb)
                                                    .bytes(4, png)));
  }
  std::string event(int64_t step, double time) const {  // nothing if there are no values
    if (values_.str().empty()) return "";
    return framed(ProtoMessage().real(1, time).integer(2, static_cast<uint64_t>(step)).message(5, values_));
  }

 private:
  void add(const ProtoMessage& value) { values_.message(1, value); }

  ProtoMessage values_;
};

double number_or_nan(const Json& record, const char* key) {
  const auto it = record.find(key);
  return it != record.end() && it->is_number() ? it->get<double>() : 0;
}

void add_step(const Json& record, Summary& to) {
  for (const auto& [key, value] : record.items())
    if (key != "step" && key != "time" && key != "seconds" && key != "slowest_rank" && key != "waiting" &&
        !key.ends_with("_tokens"))
      to.scalar("train/" + key, value);
  to.scalar("speed/step_seconds", record.value("seconds", Json()));
  to.scalar("speed/waiting", record.value("waiting", Json()));
  const double seconds = number_or_nan(record, "seconds");
  if (seconds <= 0) return;
  for (const char* side : {"source_tokens", "target_tokens"})
    if (record.contains(side))
      to.scalar(fmt::format("speed/{}_per_second", side), number_or_nan(record, side) / seconds);
}

std::string text_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

// Empty if it is no matrix of numbers: the log may come from elsewhere.
std::vector<std::vector<double>> matrix_of(const Json& rows) {
  std::vector<std::vector<double>> matrix;
  for (const Json& row : rows.is_array() ? rows : Json::array()) {
    if (!row.is_array() || row.empty() || row.size() != rows.front().size()) return {};
    matrix.emplace_back();
    for (const Json& value : row) matrix.back().push_back(value.is_number() ? value.get<double>() : 0);
  }
  return matrix;
}

// Rows are tokens of the translation, columns of the source; the darkest cell is the largest weight.
void add_attention(const Json& attention, Summary& to) {
  const std::vector<std::vector<double>> weights = matrix_of(attention.value("weights", Json()));
  if (weights.empty()) return;
  const size_t columns = weights.front().size();
  double most = 1e-9;
  for (const std::vector<double>& row : weights) most = std::max(most, *std::ranges::max_element(row));
  std::vector<uint8_t> rgb;
  for (size_t y = 0; y < weights.size() * kCell; ++y)
    for (size_t x = 0; x < columns * kCell; ++x) {
      const auto pixel = colour_of(HeatMap::Colours::sequential, weights[y / kCell][x / kCell] / most);
      rgb.insert(rgb.end(), pixel.begin(), pixel.end());
    }
  const auto width = static_cast<int64_t>(columns * kCell), height = static_cast<int64_t>(weights.size() * kCell);
  to.picture("attention", width, height, to_png(width, height, rgb));
}

void add_validation(const Json& record, Summary& to) {
  for (const auto& [key, value] : record.items())
    if (key != "step" && key != "time") to.scalar("valid/" + key.substr(key.starts_with("valid_") ? 6 : 0), value);
  std::map<std::string, int64_t> of_set;
  for (const Json& sample : record.value("samples", Json())) {
    const std::string set = text_of(sample, "set");
    to.text(fmt::format("samples/{}{}{}", set, set.empty() ? "" : ".", ++of_set[set]),
            fmt::format("**Source** {}\n\n**Reference** {}\n\n**Translation** {}", plain(text_of(sample, "source")),
                        plain(text_of(sample, "reference")), plain(text_of(sample, "hypothesis"))));
  }
  if (const auto it = record.find("attention"); it != record.end() && it->is_object()) add_attention(*it, to);
}

void add_scores_of(const Json& record, Summary& to) {
  for (const auto& [key, value] : record.items())
    if (key == "score" || key.ends_with(".score")) to.scalar("valid/" + key, value);
}

}  // namespace

std::string TensorBoardEncoder::begin(const std::string& config, double time) {
  Summary summary;
  summary.text("config", code(config));
  return framed(ProtoMessage().real(1, time).bytes(3, "brain.Event:2")) + summary.event(0, time);
}

std::string TensorBoardEncoder::events(const Json& record) {
  seconds_ += number_or_nan(record, "seconds");
  const int64_t step = record.value("step", int64_t{0});
  Summary summary;
  if (record.contains("schema"))
    summary.text("plan", code(text_of(record, "plan")));
  else if (record.contains("loss"))
    add_step(record, summary);
  else if (record.contains("valid_loss"))
    add_validation(record, summary);
  else if (record.contains("score"))
    add_scores_of(record, summary);
  else if (record.contains("rolled_back_to"))
    summary.text("rollbacks", fmt::format("step {}: back to the parameters of step {:.0f}", step,
                                          number_or_nan(record, "rolled_back_to")));
  return summary.event(step, record.contains("time") ? number_or_nan(record, "time") : seconds_);
}

std::string tensorboard_file_name(double time) { return fmt::format("{}{:010.0f}{}", kNameBegin, time, kNameEnd); }

std::string tensorboard_file(const std::vector<Json>& log, const std::string& config) {
  TensorBoardEncoder encoder;
  std::string bytes = TensorBoardEncoder::begin(config, log.empty() ? 0 : number_or_nan(log.front(), "time"));
  for (const Json& record : log) bytes += encoder.events(record);
  return bytes;
}

TensorBoardLog::TensorBoardLog(const std::string& folder, const std::vector<Json>& log, const std::string& config) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail(ErrorKind::io, fmt::format("cannot make the folder {}: {}", folder, error.message()));
  std::vector<fs::path> earlier;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kNameBegin) && name.ends_with(kNameEnd)) earlier.push_back(entry.path());
  }
  for (const fs::path& path : earlier) fs::remove(path, error);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string path =
      folder + "/" +
      tensorboard_file_name(std::chrono::duration<double>(std::chrono::floor<std::chrono::seconds>(now)).count());
  file_.emplace(path, 0);
  file_->keep(TensorBoardEncoder::begin(config, std::chrono::duration<double>(now).count()));
  for (const Json& record : log) file_->keep(encoder_.events(record));
  file_->flush();
}

void TensorBoardLog::write(const Json& record) {
  file_->keep(encoder_.events(record));
  const auto now = std::chrono::steady_clock::now();
  if (now - written_at_ < std::chrono::seconds(1) && record.contains("loss")) return;
  written_at_ = now;
  file_->write();
}

}  // namespace weft
