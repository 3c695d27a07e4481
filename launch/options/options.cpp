// launch/options/options.cpp: Boost.Program_options splits the arguments, and the fields parse the values.
#include "launch/options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "trainer/config/nearest.h"
#include "trainer/display/progress.h"

namespace weft {
namespace {

namespace po = boost::program_options;

bool is_flag(const std::string& argument, const std::vector<Field>& fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return field.is_flag && argument == "--" + field.key; });
}

// Rewrites what Boost does not support: flags with optional values (`--json false`) and empty values (`--data.valid=`).
std::vector<std::string> for_boost(const std::vector<std::string>& args, const std::vector<Field>& fields) {
  std::vector<std::string> out;
  for (size_t i = 0; i < args.size(); ++i) {
    if (is_flag(args[i], fields)) {
      const bool has_value = i + 1 < args.size() && (args[i + 1] == "true" || args[i + 1] == "false");
      out.push_back(args[i] + "=" + (has_value ? args[i + 1] : "true"));
      i += has_value;
    } else if (args[i].starts_with("--") && args[i].size() > 3 && args[i].find('=') == args[i].size() - 1) {
      out.push_back(args[i].substr(0, args[i].size() - 1));
      out.push_back("");
    } else {
      out.push_back(args[i]);
    }
  }
  return out;
}

[[noreturn]] void fail_unknown(const std::string& given, const std::vector<Field>& fields) {
  std::vector<std::string> keys;
  for (const Field& field : fields) keys.push_back(field.key);
  const std::string name = given.substr(given.find_first_not_of('-'), given.find('=') - given.find_first_not_of('-'));
  const std::string nearest = nearest_name(name, keys);
  fail(ErrorKind::usage,
       fmt::format("unknown option '{}'{}", given.substr(0, given.find('=')),
                   nearest.empty() ? "; --help lists all options" : fmt::format("; did you mean --{}?", nearest)));
}

std::vector<po::option> split_arguments(const std::vector<std::string>& args, const std::vector<Field>& fields) {
  po::options_description names;
  for (const Field& field : fields) names.add_options()(field.key.c_str(), po::value<std::string>());
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing &
                    ~po::command_line_style::allow_short;
  try {
    return po::command_line_parser(args).options(names).style(style).run().options;
  } catch (const po::unknown_option& e) {
    fail_unknown(e.get_option_name(), fields);
  } catch (const po::error& e) {
    fail(ErrorKind::usage, e.what());
  }
}

}  // namespace

void Options::positional(const char* name, std::vector<std::string>& values, const char* sentence) {
  positional_name_ = name;
  positional_sentence_ = sentence;
  positional_ = &values;
}

void Options::describe_default(const std::string& key, const std::string& text) {
  const auto field = std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.key == key; });
  field->get = [this, key, text, value = field->get] { return given(key) ? value() : text; };
}

bool Options::parse(const std::vector<std::string>& args) {
  if (const std::optional<HelpFormat> format = asked_help(args)) {
    fmt::print("{}", help(*format));
    return false;
  }
  const auto two_dashes = std::find(args.begin(), args.end(), "--");  // the arguments after it are not options
  for (const po::option& option : split_arguments(for_boost({args.begin(), two_dashes}, fields_), fields_)) {
    if (option.string_key.empty()) {
      const std::string& text = option.value.at(0);
      if (text.size() > 1 && text[0] == '-') fail_unknown(text, fields_);
      take_positional(text);
      continue;
    }
    const auto field =
        std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.key == option.string_key; });
    if (given(field->key) && !field->is_list) fail(ErrorKind::usage, fmt::format("--{} is given twice", field->key));
    field->set(given_.emplace(field->key, option.value.at(0))->second);
  }
  if (two_dashes != args.end()) std::for_each(two_dashes + 1, args.end(), [&](const auto& t) { take_positional(t); });
  return true;
}

void Options::set_given() const {
  for (const Field& field : fields_)
    if (!field.is_list && given(field.key)) field.set(given_.find(field.key)->second);
}

std::map<std::string, std::string> Options::values() const {
  std::map<std::string, std::string> values;
  for (const Field& field : fields_)
    if (!field.is_list) values[field.key] = field.get();
  return values;
}

size_t Options::num_before_positional(const std::vector<std::string>& args) const {
  size_t i = 0;
  while (i < args.size() && args[i].starts_with("-"))
    i += args[i].find('=') != std::string::npos || is_flag(args[i], fields_) ? 1 : 2;
  return std::min(i, args.size());
}

void Options::take_positional(const std::string& text) {
  if (positional_ == nullptr)
    fail(ErrorKind::usage,
         fmt::format("'{}' belongs to no option; usage: weft {}", text, usage_.substr(0, usage_.find('\n'))));
  positional_->push_back(text);
}

void Options::require(const std::string& key) const {
  const std::string usage = usage_.substr(0, usage_.find('\n'));
  if (!given(key)) fail(ErrorKind::usage, fmt::format("--{} is missing; usage: weft {}", key, usage));
  const auto [begin, end] = given_.equal_range(key);
  if (std::any_of(begin, end, [](const auto& option) { return option.second.empty(); }))
    fail(ErrorKind::usage, fmt::format("--{} has no value; usage: weft {}", key, usage));
}

std::string Options::help(HelpFormat format) const {
  HelpText help{usage_, positional_name_, positional_sentence_, fields_, common_};
  std::erase_if(help.fields, [&](const Field& f) { return hidden_.contains(f.key); });
  std::stable_partition(help.fields.begin(), help.fields.end(),
                        [](const Field& f) { return section_of(f.key).empty(); });
  if (format == HelpFormat::man) return manual_body(help);
  return format == HelpFormat::words ? completion_words(help) : help_page(help, output_columns());
}

}  // namespace weft
