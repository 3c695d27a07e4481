// trainer/report/tensorboard.cpp: encodes records as scalars, texts and pictures, framed with checksums.
#include "trainer/report/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "data/create_folder.h"
#include "tensor/clock.h"
#include "tensor/error.h"
#include "trainer/display/heat_map.h"
#include "trainer/display/png.h"
#include "trainer/report/crc32c.h"
#include "trainer/report/log_record.h"
#include "trainer/report/protobuf.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int kCell = 14;  // width and height in pixels of the cell of a weight
constexpr size_t kEmptiedFiles = 8;
constexpr int64_t kLastSecond = 9'999'999'998;  // for names with ten digits
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

// Escapes text that TensorBoard's Markdown should show unchanged.
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
  void scalar(const std::string& tag, const nlohmann::json& value) {
    if (value.is_number()) add(ProtoMessage().bytes(1, tag).real(2, value.get<float>()));  // null: was not finite
  }
  void text(const std::string& tag, const std::string& markdown) {
    constexpr uint64_t kString = 7, kTensorClass = 2;  // DT_STRING, DATA_CLASS_TENSOR
    const ProtoMessage metadata = ProtoMessage().message(1, ProtoMessage().bytes(1, "text")).integer(4, kTensorClass);
    const ProtoMessage tensor = ProtoMessage().integer(1, kString).message(2, {}).bytes(8, markdown);  // a scalar
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
  std::string event(int64_t step, double time) const {  // empty if there are no values
    if (values_.str().empty()) return "";
    return framed(ProtoMessage().real(1, time).integer(2, static_cast<uint64_t>(step)).message(5, values_));
  }

 private:
  void add(const ProtoMessage& value) { values_.message(1, value); }

  ProtoMessage values_;
};

// Tags of corpora are as in the log: corpus_nll/FOLDER and epochs/FOLDER. `stage` is the stage of the previous step and
// is set to the stage of this step.
void add_step(const nlohmann::json& record, std::string& stage, Summary& to) {
  if (const std::string now = text_at(record, "stage"); now != stage) to.text("stages", plain(stage = now));
  for (const auto& [key, value] : record.items())
    if (key != "step" && key != "time" && key != "seconds" && key != "slowest_rank" && key != "waiting" &&
        !key.ends_with("_tokens"))
      to.scalar("train/" + key, value);
  to.scalar("speed/step_seconds", record.value("seconds", nlohmann::json()));
  to.scalar("speed/waiting", record.value("waiting", nlohmann::json()));
  for (const char* of_corpora : {"corpus_nll", "epochs"})
    for (const auto& [folder, value] : numbers_in(record, of_corpora))
      to.scalar(fmt::format("{}/{}", of_corpora, folder), value);
  const double seconds = number_or_0(record, "seconds");
  for (const char* side : {"source_tokens", "target_tokens"})
    if (const auto tokens = number_at(record, side); tokens && seconds > 0)
      to.scalar(fmt::format("speed/{}_per_second", side), *tokens / seconds);
}

// Returns an empty matrix if `rows` is not a matrix, because the log may come from another program.
std::vector<std::vector<double>> matrix_of(const nlohmann::json& rows) {
  std::vector<std::vector<double>> matrix;
  for (const nlohmann::json& row : rows.is_array() ? rows : nlohmann::json::array()) {
    if (!row.is_array() || row.empty() || row.size() != rows.front().size()) return {};
    matrix.emplace_back();
    for (const nlohmann::json& value : row) matrix.back().push_back(value.is_number() ? value.get<double>() : 0);
  }
  return matrix;
}

// Draws rows for tokens of the translation and columns for tokens of the source. The largest weight is the darkest.
void add_attention(const nlohmann::json& attention, Summary& to) {
  const std::vector<std::vector<double>> weights = matrix_of(attention.value("weights", nlohmann::json()));
  if (weights.empty()) return;
  const size_t columns = weights.front().size();
  double most = 1e-9;
  for (const std::vector<double>& row : weights) most = std::max(most, *std::ranges::max_element(row));
  std::vector<uint8_t> rgb;
  for (size_t y = 0; y < weights.size() * kCell; ++y)
    for (size_t x = 0; x < columns * kCell; ++x) {
      const auto pixel = colour_of(weights[y / kCell][x / kCell] / most);
      rgb.insert(rgb.end(), pixel.begin(), pixel.end());
    }
  const auto width = static_cast<int64_t>(columns * kCell), height = static_cast<int64_t>(weights.size() * kCell);
  to.picture("attention", width, height, to_png(width, height, rgb));
}

void add_validation(const nlohmann::json& record, Summary& to) {
  for (const auto& [key, value] : record.items())
    if (key != "step" && key != "time") to.scalar("valid/" + key.substr(key.starts_with("valid_") ? 6 : 0), value);
  std::map<std::string, int64_t> of_set;
  for (const nlohmann::json& sample : record.value("samples", nlohmann::json())) {
    const std::string set = text_at(sample, "set");
    to.text(fmt::format("samples/{}{}{}", set, set.empty() ? "" : ".", ++of_set[set]),
            fmt::format("**Source** {}\n\n**Reference** {}\n\n**Translation** {}", plain(text_at(sample, "source")),
                        plain(text_at(sample, "reference")), plain(text_at(sample, "hypothesis"))));
  }
  if (const auto it = record.find("attention"); it != record.end() && it->is_object()) add_attention(*it, to);
}

void add_scores_of(const nlohmann::json& record, Summary& to) {
  for (const auto& [key, value] : record.items())
    if (is_score_key(key)) to.scalar("valid/" + key, value);
}

// Removes Weft's event files in the folder and returns their paths in order. The last few files are only emptied,
// because a TensorBoard that has a file open would not look for the next file if the open file were deleted.
std::vector<fs::path> emptied_files(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kNameBegin) && name.ends_with(kNameEnd)) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  for (size_t i = 0; i < files.size(); ++i)
    if (i + kEmptiedFiles < files.size() || !fs::is_regular_file(fs::symlink_status(files[i], error)))
      fs::remove(files[i], error);
    else
      fs::resize_file(files[i], 0, error);
  return files;
}

// TensorBoard reads files in the order of their names, which contain the time in seconds. Two starts in one second,
// or a clock that was set back, must not change this order.
std::string name_after(const std::vector<fs::path>& files, double time) {
  auto second = static_cast<int64_t>(time);
  if (!files.empty()) {
    const std::string last = files.back().filename().string().substr(std::string_view(kNameBegin).size());
    second = std::max(second, 1 + std::min<int64_t>(std::strtoll(last.c_str(), nullptr, 10), kLastSecond));
  }
  return fmt::format("{}{:010}{}", kNameBegin, second, kNameEnd);
}

}  // namespace

std::string TensorBoardEncoder::begin(const std::string& config, double time) {
  Summary summary;
  summary.text("config", code(config));
  constexpr uint64_t kStart = 1;
  const ProtoMessage session = ProtoMessage().integer(1, kStart);
  return framed(ProtoMessage().real(1, time).bytes(3, "brain.Event:2")) +
         framed(ProtoMessage().real(1, time).message(7, session)) + summary.event(0, time);
}

std::string TensorBoardEncoder::events(const nlohmann::json& record) {
  seconds_ += number_or_0(record, "seconds");
  const int64_t step = record.value("step", int64_t{0});
  Summary summary;
  if (record.contains("schema"))
    summary.text("plan", code(text_at(record, "plan")));
  else if (record.contains("loss"))
    add_step(record, stage_, summary);
  else if (is_validation(record))
    add_validation(record, summary);
  else if (record.contains("score"))
    add_scores_of(record, summary);
  else if (record.contains("rolled_back_to"))
    summary.text("rollbacks", fmt::format("step {}: rolled back to the parameters of step {:.0f}", step,
                                          number_or_0(record, "rolled_back_to")));
  return summary.event(step, record.contains("time") ? number_or_0(record, "time") : seconds_);
}

TensorBoardLog::TensorBoardLog(const std::string& folder, const std::string& config) {
  create_folder(folder);
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  file_.emplace((fs::path(folder) / name_after(emptied_files(folder), now)).string(), 0);
  file_->keep(TensorBoardEncoder::begin(config, now));
  file_->flush();
}

bool TensorBoardLog::write(const nlohmann::json& record) {
  file_->keep(encoder_.events(record));
  const double now = monotonic_seconds();
  if (now - written_at_ < 1 && record.contains("loss")) return is_written_;
  written_at_ = now;
  return write_kept();
}

}  // namespace weft
