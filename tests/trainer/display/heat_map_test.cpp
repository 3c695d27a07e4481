// tests/trainer/display/heat_map_test.cpp: heat maps are well-formed XML: labels, colours, sizes, unusual
// input.
#include "trainer/display/heat_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/error.h"
#include "tests/support/xml.h"

namespace weft::testing {
namespace {

HeatMap two_by_three() {
  return {.title = "a title",
          .row_axis = "down",
          .column_axis = "along",
          .rows = {"r0", "r1"},
          .columns = {"c0", "c1", "c2"},
          .values = {0, 0.5f, 1, 0.5f, 0.5f, 0}};
}

std::vector<XmlElement> elements(const HeatMap& map, const std::string& name) {
  std::vector<XmlElement> found = XmlReader::read(to_svg(map));
  std::erase_if(found, [&](const XmlElement& e) { return e.name != name; });
  return found;
}

std::vector<std::string> texts(const HeatMap& map) {
  std::vector<std::string> found;
  for (const XmlElement& e : elements(map, "text")) found.push_back(e.text);
  return found;
}

// The colour of each path of cells, by the path.
std::map<std::string, std::string> fills(const HeatMap& map) {
  std::map<std::string, std::string> found;
  for (const XmlElement& e : elements(map, "path"))
    if (e.attributes.at("fill") != "none") found[e.attributes.at("d")] = e.attributes.at("fill");
  return found;
}

int brightness(const std::string& hex) {
  int sum = 0;
  for (size_t i = 1; i < 7; i += 2) sum += std::stoi(hex.substr(i, 2), nullptr, 16);
  return sum;
}

TEST(HeatMap, WritesEveryLabel) {
  const std::vector<std::string> found = texts(two_by_three());
  for (const char* label : {"a title", "down", "along", "r0", "r1", "c0", "c1", "c2"})
    EXPECT_EQ(std::count(found.begin(), found.end(), label), 1) << label;
}

TEST(HeatMap, PaintsCellsOfOneColourAsOnePathAndNeighboursAsOneRectangle) {
  const std::map<std::string, std::string> found = fills(two_by_three());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found.at("M0 0h1v1h-1zM2 1h1v1h-1z"), "#ffffff");
  EXPECT_EQ(found.count("M1 0h1v1h-1zM0 1h2v1h-2z"), 1u);
  EXPECT_EQ(found.count("M2 0h1v1h-1z"), 1u);
}

TEST(HeatMap, ColoursGetDarkerAllTheWay) {
  HeatMap map{.rows = {""}, .columns = std::vector<std::string>(101)};
  for (int i = 0; i <= 100; ++i) map.values.push_back(static_cast<float>(i) / 100);
  const std::map<std::string, std::string> found = fills(map);
  int before = 256 * 3;
  for (int i = 0; i <= 100; ++i) {
    const int now = brightness(found.at("M" + std::to_string(i) + " 0h1v1h-1z"));
    EXPECT_LT(now, before) << i;
    before = now;
  }
}

TEST(HeatMap, EscapesLabelsAndReplacesWhatXmlCannotHold) {
  HeatMap map = two_by_three();
  map.title = "<&>\"'\x01 \xff";
  map.columns = {"</s>", "▁ü€", "]]>"};
  const std::vector<std::string> found = texts(map);
  for (const char* label : {"<&>\"'\uFFFD \uFFFD", "</s>", "▁ü€", "]]>"})
    EXPECT_EQ(std::count(found.begin(), found.end(), label), 1) << label;
}

TEST(HeatMap, PaintsValuesBeyondTheRangeAsItsEndsAndWhatIsNoNumberGrey) {
  HeatMap map = two_by_three();
  map.values = {-7, 0, 1, 9, std::nanf(""), std::numeric_limits<float>::infinity()};
  const std::map<std::string, std::string> found = fills(map);
  EXPECT_EQ(found.at("M0 0h2v1h-2z"), "#ffffff");
  EXPECT_EQ(found.count("M2 0h1v1h-1zM0 1h1v1h-1z"), 1u);
  EXPECT_EQ(found.at("M1 1h2v1h-2z"), "#b0b0b0");
}

TEST(HeatMap, OfNothingIsStillAPicture) {
  EXPECT_EQ(texts({.title = "nothing"}), std::vector<std::string>{"nothing"});
  EXPECT_TRUE(texts({}).empty());
  EXPECT_TRUE(fills({.rows = {"a"}}).empty());
}

TEST(HeatMap, KeepsItsLabelsWithinThePicture) {
  HeatMap map = two_by_three();
  const auto width = [&] { return std::stod(elements(map, "svg").front().attributes.at("width")); };
  const auto height = [&] { return std::stod(elements(map, "svg").front().attributes.at("height")); };
  const double narrow = width(), low = height();
  map.rows[1] = std::string(40, 'm');
  EXPECT_GT(width(), narrow + 200);
  EXPECT_EQ(height(), low);
  map.columns[2] = std::string(40, 'm');
  EXPECT_GT(height(), low + 150);
}

TEST(HeatMap, EqualInputGivesEqualBytes) { EXPECT_EQ(to_svg(two_by_three()), to_svg(two_by_three())); }

TEST(HeatMap, RefusesValuesThatDoNotFillIt) {
  HeatMap map = two_by_three();
  map.values.pop_back();
  EXPECT_THROW(to_svg(map), Error);
  map = two_by_three();
  map.high = map.low;
  EXPECT_THROW(to_svg(map), Error);
}

}  // namespace
}  // namespace weft::testing
