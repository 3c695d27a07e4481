// data/tags.cpp: converts between the names and ids of tags.
#include "data/tags.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "data/batch.h"
#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {
namespace {

constexpr size_t kMaxShown = 12;

bool can_be_tag(const std::string& name) {
  const auto has = [&](auto is) {
    return std::ranges::any_of(name, [&](char c) { return is(static_cast<unsigned char>(c)) != 0; });
  };
  const auto is_refused = [](unsigned char c) { return std::isspace(c) || std::iscntrl(c) || c == '"' || c == ','; };
  const bool is_taken = name == "<unk>" || name == "<s>" || name == "</s>" || name.starts_with("<0x");
  return has([](unsigned char c) { return std::isalpha(c); }) && has([](unsigned char c) { return std::ispunct(c); }) &&
         !has(is_refused) && !is_taken;
}

std::string list_of(const std::vector<std::string>& tags) {
  std::string list;
  for (size_t i = 0; i < std::min(tags.size(), kMaxShown); ++i) list += (i > 0 ? ", " : "") + tags[i];
  return tags.size() > kMaxShown ? fmt::format("{} and {} more", list, tags.size() - kMaxShown) : list;
}

// Calls tag(id) for each tag, and text(ids) for each run of tokens between tags, in order.
template <typename Tag, typename Text>
void for_each_part(const std::vector<int32_t>& ids, const Tokenizer& tokenizer, Tag&& tag, Text&& text) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i <= ids.size(); ++i) {
    const bool is_tag = i < ids.size() && tokenizer.is_tag(ids[i]);
    if ((is_tag || i == ids.size()) && !tokens.empty()) text(std::exchange(tokens, {}));
    if (is_tag)
      tag(ids[i]);
    else if (i < ids.size())
      tokens.push_back(ids[i]);
  }
}

}  // namespace

std::vector<std::string> tag_names(const std::string& list, const char* option) {
  std::vector<std::string> names;
  if (list.empty()) return names;
  for (const std::string_view part : split(list, ',')) {
    const std::string name(part);
    if (!can_be_tag(name))
      fail(ErrorKind::usage, fmt::format("{}: '{}' cannot be a tag, because a tag needs a letter, a punctuation mark "
                                         "and no spaces, as in <2de>; separate tags with commas",
                                         option, printable(name)));
    if (std::ranges::find(names, name) != names.end())
      fail(ErrorKind::usage, fmt::format("{}: '{}' is given twice", option, name));
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> tags_of(const Tokenizer& tokenizer) {
  std::vector<std::string> tags;
  for (int32_t id = 0; id < tokenizer.size(); ++id)
    if (tokenizer.is_tag(id)) tags.push_back(tokenizer.piece(id));
  return tags;
}

std::vector<std::string> split_tags(std::string_view tags) {
  std::vector<std::string> names;
  for (size_t begin = 0; (begin = tags.find_first_not_of(" \t", begin)) != std::string_view::npos;) {
    const size_t end = std::min(tags.find_first_of(" \t", begin), tags.size());
    names.emplace_back(tags.substr(begin, end - begin));
    begin = end;
  }
  return names;
}

std::string no_such_tag(const std::string& tag, const std::vector<std::string>& known) {
  return fmt::format(
      "'{}' is not a tag of the tokenizer, whose tags are: {}; to reserve tags, train a tokenizer with `weft pack "
      "--reserve-tags`",
      printable(tag), known.empty() ? "none" : list_of(known));
}

std::vector<int32_t> tag_ids(std::string_view tags, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  for (const std::string& tag : split_tags(tags)) {
    const int32_t id = tokenizer.id_of(tag);
    if (!tokenizer.is_tag(id)) fail(ErrorKind::usage, no_such_tag(tag, tags_of(tokenizer)));
    ids.push_back(id);
  }
  return ids;
}

void check_tags(std::string_view tags, const Tokenizer& tokenizer, const std::string& where, ErrorKind kind) {
  try {
    tag_ids(tags, tokenizer);
  } catch (const Error& error) {
    fail(kind, fmt::format("{}: {}", where, error.what()));
  }
}

std::vector<int32_t> encode_with_tags(std::string_view tags, std::string_view text, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids = tokenizer.encode(text);
  if (!tags.empty()) {
    const std::vector<int32_t> front = tag_ids(tags, tokenizer);
    ids.insert(ids.begin(), front.begin(), front.end());
  }
  return ids;
}

size_t num_leading_tags(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  const auto is_text = [&](int32_t id) { return !tokenizer.is_tag(id); };
  return static_cast<size_t>(std::ranges::find_if(ids, is_text) - ids.begin());
}

std::string decode_with_tags(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  std::string all;
  const auto add = [&](const std::string& part) { all += (all.empty() || part.empty() ? "" : " ") + part; };
  for_each_part(
      ids, tokenizer, [&](int32_t tag) { add(tokenizer.piece(tag)); },
      [&](const std::vector<int32_t>& text) { add(tokenizer.decode(text)); });
  return all;
}

std::vector<int32_t> with_changed_text(const std::vector<int32_t>& ids, const Tokenizer& tokenizer,
                                       const std::function<std::string(const std::string&)>& change) {
  std::vector<int32_t> changed;
  for_each_part(
      ids, tokenizer, [&](int32_t tag) { changed.push_back(tag); },
      [&](const std::vector<int32_t>& text) {
        const std::vector<int32_t> encoded = tokenizer.encode(change(tokenizer.decode(text)));
        changed.insert(changed.end(), encoded.begin(), encoded.end());
      });
  return changed;
}

}  // namespace weft
