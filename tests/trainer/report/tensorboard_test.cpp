// tests/trainer/report/tensorboard_test.cpp: event files, read back by a small reader of its own; tests/exchange/run
// reads them with TensorBoard (tests/reference/tensorboard_events.py).
#include "trainer/report/tensorboard.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temporary_folder.h"
#include "trainer/report/crc32c.h"

namespace weft::testing {
namespace {

uint64_t little_endian_at(std::string_view bytes, size_t at, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes.at(at + i))) << 8 * i;
  return value;
}

// Bit by bit, from the reversed Castagnoli polynomial.
uint32_t slow_masked_crc(std::string_view bytes) {
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

struct WireField {
  int number;
  uint64_t integer;       // of wire types 0, 1 and 5
  std::string_view text;  // of wire type 2
};

uint64_t varint_at(std::string_view bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.at(at++));
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

std::vector<WireField> fields_of(std::string_view bytes) {
  std::vector<WireField> fields;
  for (size_t at = 0; at < bytes.size();) {
    const uint64_t tag = varint_at(bytes, at);
    WireField field{.number = static_cast<int>(tag >> 3)};
    if ((tag & 7) == 0) field.integer = varint_at(bytes, at);
    if ((tag & 7) == 1) field.integer = little_endian_at(bytes, at, 8), at += 8;
    if ((tag & 7) == 5) field.integer = little_endian_at(bytes, at, 4), at += 4;
    if ((tag & 7) == 2) {
      const uint64_t size = varint_at(bytes, at);
      field.text = bytes.substr(at, size), at += size;
    }
    fields.push_back(field);
  }
  return fields;
}

std::string_view text_in(std::string_view message, int number) {
  for (const WireField& field : fields_of(message))
    if (field.number == number) return field.text;
  return {};
}

struct EventValue {
  double time = 0;
  int64_t step = 0;
  float scalar = 0;
  std::string text, png;
};

// All values by tag; checks every length and checksum.
std::multimap<std::string, EventValue> values_of(std::string_view file) {
  std::multimap<std::string, EventValue> values;
  for (size_t at = 0; at < file.size();) {
    const uint64_t size = little_endian_at(file, at, 8);
    EXPECT_EQ(little_endian_at(file, at + 8, 4), slow_masked_crc(file.substr(at, 8)));
    const std::string_view event = file.substr(at + 12, size);
    EXPECT_EQ(little_endian_at(file, at + 12 + size, 4), slow_masked_crc(event));
    at += 12 + size + 4;
    EventValue of_event;
    for (const WireField& field : fields_of(event)) {
      if (field.number == 1) of_event.time = std::bit_cast<double>(field.integer);
      if (field.number == 2) of_event.step = static_cast<int64_t>(field.integer);
      if (field.number != 5) continue;
      for (const WireField& value : fields_of(field.text)) {
        EventValue v = of_event;
        for (const WireField& part : fields_of(value.text)) {
          if (part.number == 2) v.scalar = std::bit_cast<float>(static_cast<uint32_t>(part.integer));
          if (part.number == 4) v.png = text_in(part.text, 4);
          if (part.number == 8) v.text = text_in(part.text, 8);
        }
        values.emplace(text_in(value.text, 1), v);
      }
    }
  }
  return values;
}

EventValue only(const std::multimap<std::string, EventValue>& values, const std::string& tag) {
  EXPECT_EQ(values.count(tag), 1u) << tag;
  const auto it = values.find(tag);
  return it == values.end() ? EventValue{} : it->second;
}

nlohmann::json step(int64_t number, double loss) {
  return {{"step", number}, {"loss", loss}, {"target_tokens", 300}, {"seconds", 0.5}, {"time", 1000.25}};
}

std::string tensorboard_file(const std::vector<nlohmann::json>& log, const std::string& config) {
  TensorBoardEncoder encoder;
  std::string bytes = TensorBoardEncoder::begin(config, log.front().value("time", 0.0));
  for (const nlohmann::json& record : log) bytes += encoder.events(record);
  return bytes;
}

TEST(Crc32c, OfTheDigitsIsTheCheckValueOfItsCatalogue) { EXPECT_EQ(crc32c("123456789"), 0xe3069283u); }

TEST(TensorBoard, HasTheNumbersOfStepsAndValidations) {
  const auto values = values_of(tensorboard_file(
      {step(7, 2.5), {{"step", 7}, {"valid_loss", 2.25}, {"bleu", 31.5}, {"time", 1001.5}}}, "[model]\nwidth = 8\n"));
  EXPECT_EQ(only(values, "train/loss").scalar, 2.5f);
  EXPECT_EQ(only(values, "train/loss").step, 7);
  EXPECT_EQ(only(values, "train/loss").time, 1000.25);
  EXPECT_EQ(only(values, "speed/target_tokens_per_second").scalar, 600);
  EXPECT_EQ(only(values, "speed/step_seconds").scalar, 0.5f);
  EXPECT_EQ(only(values, "valid/loss").scalar, 2.25f);
  EXPECT_EQ(only(values, "valid/bleu").scalar, 31.5f);
  EXPECT_EQ(only(values, "config").text, "    [model]\n    width = 8\n    ");
  EXPECT_EQ(values.size(), 6u) << "neither time nor step is a curve";
}

TEST(TensorBoard, HasTheNumbersAndSamplesOfNamedSets) {
  const nlohmann::json sample{{"source", "a"}, {"reference", "b"}, {"hypothesis", "c"}, {"set", "news"}};
  const auto values = values_of(tensorboard_file(
      {{{"step", 5}, {"valid_loss", 1}, {"sets", {"dev", "news"}}, {"news.bleu", 12.5}, {"samples", {sample}}}}, ""));
  EXPECT_EQ(only(values, "valid/news.bleu").scalar, 12.5f);
  EXPECT_EQ(values.count("samples/news.1"), 1u);
  const auto scores = values_of(tensorboard_file({{{"step", 5}, {"score", 0.5}, {"news.score", 0.25}}}, ""));
  EXPECT_EQ(only(scores, "valid/score").scalar, 0.5f);
  EXPECT_EQ(only(scores, "valid/news.score").step, 5);
}

TEST(TensorBoard, LeavesOutWhatWasNotFinite) {
  nlohmann::json record = step(1, 1);
  record["grad_norm"] = nullptr;
  EXPECT_EQ(values_of(tensorboard_file({record}, "")).count("train/grad_norm"), 0u);
}

TEST(TensorBoard, ShowsSamplesAsTheyAre) {
  const nlohmann::json validation = {
      {"step", 5},
      {"valid_loss", 1},
      {"samples", {{{"source", "a *b* <i>"}, {"reference", "c_d"}, {"hypothesis", "e & `f`"}}}}};
  const auto values = values_of(tensorboard_file({validation}, ""));
  EXPECT_EQ(only(values, "samples/1").text,
            "**Source** a \\*b\\* &lt;i\\>\n\n**Reference** c\\_d\n\n**Translation** e &amp; \\`f\\`");
}

uint32_t big_endian_at(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes.at(at + i));
  return value;
}

TEST(TensorBoard, PaintsAttentionWithARowForEachTargetToken) {
  const nlohmann::json validation = {
      {"step", 5}, {"valid_loss", 1}, {"attention", {{"weights", {{0.0, 0.5, 0.25}, {0.5, 0.0, 0.0}}}}}};
  const std::string png = only(values_of(tensorboard_file({validation}, "")), "attention").png;
  ASSERT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  const uint32_t width = big_endian_at(png, 16), height = big_endian_at(png, 20), size = big_endian_at(png, 33);
  EXPECT_EQ(width, 3 * 14u);
  EXPECT_EQ(height, 2 * 14u);
  std::string pixels(height * (3 * width + 1), '\0');
  uLongf unpacked = pixels.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(pixels.data()), &unpacked,
                       reinterpret_cast<const Bytef*>(png.data() + 41), size),
            Z_OK);
  EXPECT_EQ(unpacked, pixels.size());
  EXPECT_EQ(big_endian_at(png, 41 + size), crc32(0, reinterpret_cast<const Bytef*>(png.data() + 37), size + 4));
  EXPECT_EQ(pixels.substr(1, 3), "\xff\xff\xff") << "0 is white";
  EXPECT_EQ(pixels.substr(1 + 3 * 14, 3), "\x05\x24\x54") << "the largest weight is the darkest blue";
}

TEST(TensorBoard, ReadsLogsOfOtherShapesWithoutThem) {
  for (const char* field : {R"("samples":7)", R"("samples":[1])", R"("attention":[])", R"("attention":{"weights":[1]})",
                            R"("attention":{"weights":[[1],[1,2]]})", R"("attention":{"weights":[[]]})"}) {
    const auto record = nlohmann::json::parse(std::string(R"({"step":1,"valid_loss":1,)") + field + "}");
    EXPECT_EQ(values_of(tensorboard_file({record}, "")).count("attention"), 0u) << field;
  }
}

TEST(TensorBoard, HasTheStageAndTheNumbersOfCorpora) {
  nlohmann::json first = step(1, 5), second = step(2, 4), third = step(3, 3);
  first["stage"] = "all", second["stage"] = third["stage"] = "tune_1";
  third["corpus_nll"] = {{"packed/a", 2.5}, {"b", nullptr}};
  third["epochs"] = {{"packed/a", 7}, {"b", 0}};
  const auto values = values_of(tensorboard_file({first, second, third}, ""));
  EXPECT_EQ(only(values, "corpus_nll/packed/a").scalar, 2.5f);
  EXPECT_EQ(values.count("corpus_nll/b"), 0u) << "null: no pairs of the corpus";
  EXPECT_EQ(only(values, "epochs/packed/a").scalar, 7);
  const auto [begin, end] = values.equal_range("stages");
  ASSERT_EQ(std::distance(begin, end), 2);
  EXPECT_EQ(begin->second.text, "all");
  EXPECT_EQ(std::next(begin)->second.text, "tune\\_1");
  EXPECT_EQ(std::next(begin)->second.step, 2);
}

// Weft's files of a folder in the order in which TensorBoard reads them.
std::vector<std::string> event_files(const TemporaryFolder& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().extension() == ".weft") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

TEST(TensorBoardLog, IsWrittenAnewByEachStartAndLeavesOtherFiles) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "events.out.tfevents.1.elsewhere", "of another program");
  { TensorBoardLog(folder.path(), "").write(step(1, 9)); }
  {
    TensorBoardLog log(folder.path(), "");
    for (const int64_t number : {1, 2}) log.write(step(number, 4.0 - static_cast<double>(number)));
  }
  const std::vector<std::string> ours = event_files(folder);
  ASSERT_EQ(ours.size(), 2u) << "one that may be open in a TensorBoard stays";
  EXPECT_EQ(read_file(ours.front()), "");
  const std::string bytes = read_file(ours.back());
  const auto values = values_of(bytes);
  EXPECT_EQ(values.count("train/loss"), 2u);
  EXPECT_EQ(values.find("train/loss")->second.scalar, 3);
  EXPECT_EQ(read_file(folder / "events.out.tfevents.1.elsewhere"), "of another program");
}

TEST(TensorBoardLog, KeepsEventsWhileTheDiskIsFullAndWritesThemLater) {
  const TemporaryFolder folder;
  TensorBoardLog log(folder.path(), "");
  const std::string file = event_files(folder).back();
  {
    const FileSizeLimit full(std::filesystem::file_size(file));
    EXPECT_FALSE(log.write(step(1, 3)));
    EXPECT_FALSE(log.write(step(2, 3)));
    EXPECT_FALSE(log.write_kept());
  }
  EXPECT_TRUE(log.write_kept());
  EXPECT_EQ(values_of(read_file(file)).count("train/loss"), 2u);
}

TEST(TensorBoardLog, BeginsEachFileWithAStartAtStepZero) {  // open readers then forget all steps from 0 on
  const std::string file = TensorBoardEncoder::begin("", 7);
  const size_t first = 12 + little_endian_at(file, 0, 8) + 4;
  const std::string_view event = std::string_view(file).substr(first + 12, little_endian_at(file, first, 8));
  EXPECT_EQ(text_in(event, 7), std::string("\x08\x01")) << "session_log, whose status is START";
  for (const WireField& field : fields_of(event)) EXPECT_NE(field.number, 2) << "no step: 0";
}

TEST(TensorBoardLog, NamesALaterFileAlwaysLater) {
  const TemporaryFolder folder;
  const std::string future = folder / "events.out.tfevents.9000000000.weft";  // the clock was set back
  write_file_atomically(future, "x");
  for (int start = 0; start < 20; ++start) TensorBoardLog(folder.path(), "");
  const std::vector<std::string> files = event_files(folder);
  ASSERT_EQ(files.size(), 9u) << "the last few";
  for (const std::string& file : files) EXPECT_EQ(read_file(file).empty(), file != files.back());
  EXPECT_GT(files.front(), future);
}

}  // namespace
}  // namespace weft::testing
