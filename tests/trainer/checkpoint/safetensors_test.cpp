// tests/trainer/checkpoint/safetensors_test.cpp: the exact bytes written, and a reader that checks
// everything.
#include "trainer/checkpoint/safetensors.h"

#include <cstring>
#include <limits>
#include <random>

#include "checkpoint_fixture.h"
#include "tensor/op/quantize.h"

namespace weft::checkpoint_test {
namespace {

std::string file_text(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":{}}})", dtype, shape, offsets);
}

// The reader's error for such a header; "" if it accepts it.
std::string verdict(const std::string& header, size_t data_bytes) {
  const std::string refusal = testing::refusal_of(
      ErrorKind::checkpoint, [&] { parse_safetensors_header(header, data_bytes, "x.safetensors"); });
  EXPECT_TRUE(refusal.empty() || holds(refusal, "x.safetensors")) << refusal;
  return refusal;
}

TEST(Safetensors, WritesThePublicFormat) {
  const Folder folder;
  SafetensorsWriter writer(folder / "a.safetensors", {{"b", {2}}, {"a.w", {1, 3}}});
  const float values[] = {1, 2, 3, 4, 5};
  writer.write(values, 2);
  writer.write(values + 2, 3);
  const FileDigest digest = writer.finish();
  std::string header =
      R"({"a.w":{"data_offsets":[0,12],"dtype":"F32","shape":[1,3]},"b":{"data_offsets":[12,20],"dtype":"F32","shape":[2]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string expected = file_text(header, std::string(reinterpret_cast<const char*>(values), sizeof values));
  EXPECT_EQ(read_text(folder / "a.safetensors"), expected);
  EXPECT_EQ(digest.size, expected.size());
  EXPECT_EQ(digest.sha256, sha256_of(expected));
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  const Folder folder;
  SafetensorsWriter writer(folder / "a.safetensors", {{"scalar", {}}, {"empty", {0, 4}}, {"matrix", {2, 2}}});
  const float values[] = {1, 2, 3, 4, 5};
  writer.write(values, 5);
  writer.finish();
  const SafetensorsFile file(folder / "a.safetensors");
  float matrix[4] = {}, scalar = 0;
  file.read("matrix", matrix);
  file.read("scalar", &scalar);
  EXPECT_EQ(0, memcmp(matrix, values, sizeof matrix));
  EXPECT_EQ(scalar, 5);
  EXPECT_EQ(file.entries().size(), 3u);
}

TEST(Safetensors, ReadsOtherWritersFiles) {  // metadata, any order, any padding
  const Folder folder;
  const float values[] = {1, 2, 3};
  write_text(folder / "a.safetensors",
             file_text(fmt::format(R"({{"__metadata__":{{"format":"pt"}},"x":{},"a":{}}} )",
                                   entry("F32", "[1]", "[8,12]"), entry("F32", "[2]", "[0,8]")),
                       std::string(reinterpret_cast<const char*>(values), sizeof values)));
  const SafetensorsFile file(folder / "a.safetensors");
  float x = 0;
  file.read("x", &x);
  EXPECT_EQ(x, 3);
}

TEST(Safetensors, WritingMoreOrLessThanAnnouncedIsABug) {
  const Folder folder;
  const float values[] = {1, 2, 3};
  SafetensorsWriter less(folder / "less", {{"a", {3}}}), more(folder / "more", {{"a", {2}}});
  less.write(values, 2);
  message_of(ErrorKind::internal, [&] { less.finish(); });
  message_of(ErrorKind::internal, [&] { more.write(values, 3); });
}

TEST(Safetensors, KeepsMatricesInInt8WithAScaleForEachRow) {
  const Folder folder;
  SafetensorsWriter writer(folder / "a", {{"b", {2}}, {"w", {2, 1, 3}}}, /*metadata=*/{}, {{"w", 3}});
  const std::vector<float> values{3, 4, 1, -2, 127, 0.5f, 0.25f, -1};  // of b, and of two rows
  writer.write(values.data(), 4);
  writer.write(values.data() + 4, 4);
  EXPECT_EQ(writer.entries().at("w.scale").shape, std::vector<int64_t>{2});
  writer.finish();
  const SafetensorsFile file(folder / "a");
  ASSERT_EQ(file.entries().size(), 2u);
  EXPECT_EQ(file.entries().at("w").dtype, "I8");
  EXPECT_EQ(file.file()->size() - file.data_begin(), 2 * 4 + 6 + 2 * 4u);
  std::vector<float> expected(values.begin() + 2, values.end()), found(6);
  round_rows_to_int8(expected.data(), 2, 3);
  file.read("w", found.data());
  EXPECT_EQ(found, expected);
  float part[2];
  file.read("w", 2, 2, part);  // of both rows
  EXPECT_EQ(part[0], expected[2]);
  EXPECT_EQ(part[1], expected[3]);
}

TEST(Safetensors, RefusesScalesThatFitNoMatrix) {
  const Folder folder;
  const std::string matrix = "{\"w\":" + entry("I8", "[2,2]", "[0,4]") + ",\"w.scale\":";
  for (const auto& [scale, bytes] : {std::pair(entry("F32", "[3]", "[4,16]"), 16),
                                     {entry("F16", "[2]", "[4,8]"), 8},
                                     {entry("F32", "[0]", "[4,4]"), 4}}) {
    write_text(folder / "a", file_text(matrix + scale + "}", std::string(static_cast<size_t>(bytes), '\1')));
    EXPECT_TRUE(holds(message_of(ErrorKind::checkpoint, [&] { SafetensorsFile(folder / "a"); }),
                      "contains no scales for [2, 2]"));
  }
}

TEST(Safetensors, ElementTypesThatCannotBeLoadedAreNamed) {
  const Folder folder;
  write_text(folder / "a.safetensors", file_text("{\"h\":" + entry("I16", "[2]", "[0,4]") + "}", "abcd"));
  const SafetensorsFile file(folder / "a.safetensors");
  float out[2];
  const std::string message = message_of(ErrorKind::checkpoint, [&] { file.read("h", out); });
  EXPECT_TRUE(holds(message, "'h'") && holds(message, "I16")) << message;
}

TEST(Safetensors, WidensHalfPrecisionExactly) {
  const Folder folder;
  const uint16_t bits[] = {0x3C00, 0xC000, 0x3555, 0x7BFF, 0x0001, 0x83FF, 0x8000, 0x7C00,   // F16
                           0x3F80, 0xC000, 0x3EAB, 0x7F7F, 0x0001, 0xFF80, 0x8000, 0x0000};  // BF16
  write_text(folder / "a",
             file_text("{\"b\":" + entry("BF16", "[8]", "[16,32]") + ",\"h\":" + entry("F16", "[8]", "[0,16]") + "}",
                       std::string(reinterpret_cast<const char*>(bits), sizeof bits)));
  const SafetensorsFile file(folder / "a");
  std::vector<float> half(8), brain(8);
  file.read("h", half.data());
  file.read("b", brain.data());
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(half, (std::vector<float>{1, -2, 0x1.554p-2f, 65504, 0x1p-24f, -0x1.ff8p-15f, 0, inf}));
  EXPECT_EQ(brain, (std::vector<float>{1, -2, 0x1.56p-2f, 0x1.fep127f, 0x1p-133f, -inf, 0, 0}));
  EXPECT_TRUE(std::signbit(half[6]) && std::signbit(brain[6]));
}

TEST(Safetensors, WritesMetadataThatOtherReadersAskFor) {
  const Folder folder;
  SafetensorsWriter(folder / "a", {}, {{"format", "pt"}}).finish();
  EXPECT_TRUE(holds(read_text(folder / "a"), R"({"__metadata__":{"format":"pt"}})"));
  EXPECT_TRUE(SafetensorsFile(folder / "a").entries().empty());
}

TEST(Safetensors, RefusesEachDamagedField) {
  const auto one = [](const std::string& line) { return "{\"w\":" + line + "}"; };
  EXPECT_EQ(verdict(one(entry("F32", "[2,1]", "[0,8]")), 8), "");
  const std::vector<std::tuple<std::string, size_t, std::string>> cases = {
      {one(entry("F33", "[2]", "[0,8]")), 8, "unknown dtype 'F33'"},
      {one(entry("F32", "[3]", "[0,8]")), 8, "shape [3] need 12"},
      {one(entry("F32", "[-2]", "[0,8]")), 8, "shape contains a value that is not a whole number"},
      {one(entry("F32", "[2.0]", "[0,8]")), 8, "shape contains a value that is not a whole number"},
      {one(entry("F32", "{}", "[0,8]")), 8, "shape is not a list"},
      {one(entry("F32", "[4611686018427387904,4]", "[0,0]")), 0, "shape is too large"},
      {one(entry("F32", "[2]", "[0,8,9]")), 8, "data_offsets is not a pair of numbers"},
      {one(entry("F32", "[2]", "[8,0]")), 8, "outside the 8 bytes"},
      {one(entry("F32", "[2]", "[4,12]")), 8, "outside the 8 bytes"},
      {one(entry("F32", "[2]", "[18446744073709551612,4]")), 8, "outside the 8 bytes"},
      {one(entry("F32", "[2]", "[4,12]")), 12, "gap or an overlap at 0"},
      {one(entry("F32", "[2]", "[0,8]")), 12, "the file contains 12 bytes of data, but its header describes 8 bytes"},
      {one(R"({"dtype":"F32","shape":[2]})"), 8, "the header must contain its dtype, shape and data_offsets"},
      {one("[]"), 8, "the header must contain its dtype"},
      {"{\"a\":" + entry("F32", "[1]", "[0,4]") + ",\"b\":" + entry("F32", "[1]", "[0,4]") + "}", 4, "overlap at 4"},
      {"{\"a\":" + entry("F32", "[1]", "[0,4]") + ",\"b\":" + entry("F32", "[1]", "[8,12]") + "}", 12, "gap"},
      {"{\"a\":" + entry("F32", "[1]", "[0,4]") + ",\"a\":" + entry("F32", "[1]", "[0,4]") + "}", 4,
       "the key 'a' occurs twice in an object"},
      {R"({"__metadata__":{"a":1}})", 0, "__metadata__"},
      {"[]", 0, "not a JSON object"},
      {"{\"a\"", 0, "not valid JSON"},
      {"", 0, "not valid JSON"},
      {std::string(100000, '['), 0, "too deeply"}};
  for (const auto& [header, bytes, part] : cases) {
    const std::string said = verdict(header, bytes);
    EXPECT_TRUE(holds(said, part)) << "expected: " << part << "\nsaid: " << said;
  }
}

TEST(Safetensors, SaysNothingOfAFileThatCouldHarmATerminal) {
  const std::string names[] = {R"(a\nb)", R"(a\u001b[2Jb)", R"(a\u0000b)", std::string(200'000, 'x')};
  for (const std::string& name : names) {
    const std::string good = "\"" + name + "\":" + entry("F32", "[1]", "[0,4]");
    for (const std::string& header : {"{\"" + name + "\":[]}", "{" + good + "," + good + "}", "{\"" + name + "\"}",
                                      "{" + good + "}", "{\"a\":" + entry(name, "[1]", "[0,4]") + "}"}) {
      const std::string said = verdict(header, 8);
      EXPECT_LT(said.size(), 400u);
      EXPECT_NE(said, "");
      for (const char c : said) ASSERT_GE(static_cast<unsigned char>(c), 0x20) << said;
    }
  }
  std::string ones = "[1";
  for (int i = 0; i < 10'000; ++i) ones += ",1";
  EXPECT_LT(verdict("{\"a\":" + entry("F32", ones + "]", "[0,8]") + "}", 8).size(), 400u);
}

TEST(Safetensors, RefusesAHeaderLengthBeyondTheFile) {
  const Folder folder;
  for (const uint64_t length : {uint64_t{3}, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    write_text(folder / "a", std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
    EXPECT_TRUE(holds(message_of(ErrorKind::checkpoint, [&] { SafetensorsFile(folder / "a"); }), "header length"));
  }
  write_text(folder / "a", "1234567");
  EXPECT_TRUE(holds(message_of(ErrorKind::checkpoint, [&] { SafetensorsFile(folder / "a"); }), "too short"));
  message_of(ErrorKind::checkpoint, [&] { SafetensorsFile(folder / "missing"); });
  message_of(ErrorKind::checkpoint, [&] { SafetensorsFile(folder.path()); });
  fs::create_symlink("a", folder / "link");
  message_of(ErrorKind::checkpoint, [&] { SafetensorsFile(folder / "link"); });
}

// Every mutated header gives an Error, or tensors that cover the data exactly and have the sizes of their
// shapes.
TEST(Safetensors, MutatedHeadersAreRefusedOrDescribeTheDataCompletely) {
  const std::string good = "{\"a\":" + entry("F32", "[4]", "[0,16]") +
                           ",\"decoder.0.b\":" + entry("F32", "[2,3]", "[16,40]") +
                           ",\"c\":" + entry("F32", "[]", "[40,44]") + "}    ";
  ASSERT_EQ(verdict(good, 44), "");
  const std::string alphabet = "0123456789[]{},:\"- \\F";
  std::mt19937 random(1);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  int num_refused = 0, num_accepted = 0;
  for (int round = 0; round < 10000; ++round) {
    std::string mutant = good;
    const size_t num_changes = 1 + below(3);
    for (size_t change = 0; change < num_changes; ++change) {
      char& c = mutant[below(mutant.size())];
      c = below(2) ? static_cast<char>(c ^ (1 << below(8))) : alphabet[below(alphabet.size())];
    }
    if (below(10) == 0) mutant.resize(below(mutant.size()));
    if (!verdict(mutant, 44).empty()) {
      ++num_refused;
      continue;
    }
    ++num_accepted;  // a letter of a name, or the like
    std::vector<int> covered(44);
    for (const auto& [name, e] : parse_safetensors_header(mutant, 44, "x"))
      for (uint64_t byte = e.begin; byte < e.end; ++byte) ++covered.at(byte);
    EXPECT_EQ(covered, std::vector<int>(44, 1)) << mutant;
  }
  EXPECT_GT(num_refused, 7000);
  EXPECT_GT(num_accepted, 100);
}

}  // namespace
}  // namespace weft::checkpoint_test
