// tests/support/xml.h: parses the subset of XML that Weft's files use.
//
// Elements, attributes in double quotes, character data and the five named entities; no comments, CDATA or DOCTYPE.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace weft::testing {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // directly within, entities resolved
};

class XmlReader {  // throws std::runtime_error if the text is not well-formed
 public:
  static std::vector<XmlElement> read(const std::string& xml) { return XmlReader(xml).document(); }

 private:
  explicit XmlReader(const std::string& xml) : xml_(xml) {}

  std::vector<XmlElement> document() {
    if (take("<?xml ")) at_ = find("?>") + 2;
    skip_spaces();
    element();
    skip_spaces();
    if (at_ != xml_.size()) fail("something follows the root");
    return elements_;
  }
  void element() {
    expect("<");
    const size_t index = elements_.size();
    elements_.push_back({.name = name()});
    while (skip_spaces(), !starts(">") && !starts("/>")) {
      const std::string key = name();
      expect("=\"");
      const size_t end = find("\"");
      if (!elements_[index].attributes.emplace(key, characters(end)).second) fail("an attribute stands twice");
      at_ = end + 1;
    }
    if (take("/>")) return;
    expect(">");
    while (!starts("</")) {
      if (starts("<")) {
        element();
      } else {
        elements_[index].text += characters(find("<"));
      }
    }
    expect("</" + elements_[index].name + ">");
  }
  std::string characters(size_t end) {
    std::string out;
    while (at_ < end) {
      const auto c = static_cast<unsigned char>(xml_[at_]);
      if (c == '<' || (c < 0x20 && c != '\t' && c != '\n')) fail("a character that must not stand there");
      if (c != '&') {
        out += xml_[at_++];
        continue;
      }
      static const std::map<std::string, char> entities{
          {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
      const size_t semicolon = find(";");
      const auto entity = entities.find(xml_.substr(at_, semicolon + 1 - at_));
      if (entity == entities.end()) fail("an unknown entity");
      out += entity->second;
      at_ = semicolon + 1;
    }
    return out;
  }
  std::string name() {
    const size_t end = xml_.find_first_of(" \n\t=/>\"", at_);
    if (end == std::string::npos || end == at_) fail("a name is missing");
    const std::string found = xml_.substr(at_, end - at_);
    at_ = end;
    return found;
  }
  size_t find(const std::string& what) const {
    const size_t at = xml_.find(what, at_);
    if (at == std::string::npos) fail(what + " is missing");
    return at;
  }
  bool starts(const std::string& what) const { return xml_.compare(at_, what.size(), what) == 0; }
  bool take(const std::string& what) {
    if (!starts(what)) return false;
    at_ += what.size();
    return true;
  }
  void expect(const std::string& what) {
    if (!take(what)) fail(what + " is missing");
  }
  void skip_spaces() {
    while (at_ < xml_.size() && (xml_[at_] == ' ' || xml_[at_] == '\n')) ++at_;
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("at byte " + std::to_string(at_) + ": " + why);
  }

  const std::string& xml_;
  size_t at_ = 0;
  std::vector<XmlElement> elements_;
};

}  // namespace weft::testing
