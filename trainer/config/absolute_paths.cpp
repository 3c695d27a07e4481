// trainer/config/absolute_paths.cpp: finds the paths in the texts of options.
#include "trainer/config/absolute_paths.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "data/text/split.h"
#include "tensor/error.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

using Convert = void (*)(std::string& text);

void convert_path(std::string& path) {
  if (!path.empty()) path = fs::absolute(path).lexically_normal().string();
}

template <typename ConvertPart>
void convert_parts(std::string& list, ConvertPart&& convert) {
  std::string text;
  for (std::string& part : split_at_commas(list)) {
    convert(part);
    text += (text.empty() ? "" : ",") + part;
  }
  list = text;
}

// Converts "FOLDER,FOLDER:WEIGHT,...". The weight may stay at the end of the path.
void convert_mix(std::string& list) { convert_parts(list, convert_path); }

// Converts "NUMBER", which has no path, or "FOLDER:NUMBER,...".
void convert_numbers(std::string& list) {
  convert_parts(list, [](std::string& part) {
    if (find_colon_after_folder(part) != std::string::npos) convert_path(part);
  });
}

// Converts "FOLDER" or "NAME=FOLDER,NAME=FOLDER:NOISE,...".
void convert_sets(std::string& text) {
  const auto end_of_name = [](const std::string& part) {
    const size_t equals = part.find('=');
    const bool is_name = equals != std::string::npos &&
                         std::all_of(part.begin(), part.begin() + std::ptrdiff_t(equals),
                                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
    return is_name ? equals + 1 : 0;
  };
  if (end_of_name(text) == 0) return convert_path(text);
  convert_parts(text, [&](std::string& part) {
    const size_t begin = end_of_name(part);
    std::string folder = part.substr(begin);
    convert_path(folder);
    part = part.substr(0, begin) + folder;
  });
}

// Visits every option that contains paths.
void convert_all(RunConfig& c) {
  const auto convert = [](std::initializer_list<std::pair<std::string*, Convert>> options) {
    for (const auto& [text, function] : options) function(*text);
  };
  convert({{&c.data.train, convert_mix},
           {&c.data.valid, convert_sets},
           {&c.data.min_score, convert_numbers},
           {&c.train.epochs, convert_numbers},
           {&c.train.init, convert_path},
           {&c.train.output, convert_path}});
  for (StageConfig& stage : c.stages)
    convert({{&stage.mix, convert_mix}, {&stage.min_score, convert_numbers}, {&stage.epochs, convert_numbers}});
}

// True if an option's list, and a line of a .cfg file, can hold the path.
bool can_be_listed(const std::string& path) {
  return path.find_first_of(",#") == std::string::npos && printable(path, path.size()) == path;
}

}  // namespace

RunConfig with_absolute_paths(RunConfig config) {
  std::error_code gone;
  const fs::path current = fs::current_path(gone);
  if (!gone && can_be_listed(current.string())) convert_all(config);
  return config;
}

}  // namespace weft
