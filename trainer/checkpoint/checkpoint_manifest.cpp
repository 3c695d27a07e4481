// trainer/checkpoint/checkpoint_manifest.cpp: writes, reads and verifies MANIFEST.json.
#include "trainer/checkpoint/checkpoint_manifest.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/strict_json.h"
#include "tensor/error.h"

namespace weft {

using nlohmann::json;

namespace {

constexpr char kFormat[] = "weft-checkpoint";
constexpr int64_t kNewestVersion = 5;  // in version 1, all tensors of a kind are in one file

// The last two lines of a manifest contain the SHA-256 of all bytes before them.
constexpr size_t kSealBytes = 90;
std::string seal(const std::string& body) {
  return fmt::format("  \"manifest_sha256\": \"{}\"\n}}\n", sha256_of(body));
}

std::string to_text(const CheckpointManifest& manifest) {
  json files = json::object(), tensors = json::object();
  for (const auto& [name, digest] : manifest.files) files[name] = {{"size", digest.size}, {"sha256", digest.sha256}};
  for (const auto& [name, t] : manifest.tensors)
    tensors[name] = {{"file", t.file}, {"dtype", t.dtype}, {"shape", t.shape}};
  const json all = {{"format", kFormat},
                    {"format_version", manifest.format_version},
                    {"step", manifest.step},
                    {"weft_version", manifest.weft_version},
                    {"grid", {{"dp", manifest.dp}, {"tp", manifest.tp}}},
                    {"files", files},
                    {"tensors", tensors}};
  std::string body = all.dump(2);
  body.resize(body.size() - 2);  // removes "\n}"
  body += ",\n";
  return body + seal(body);
}

// Returns true if the tensor is so small that sums over a manifest's tensors cannot overflow.
bool is_possible(const std::vector<int64_t>& shape) {
  constexpr int64_t kMax = int64_t{1} << 40;
  int64_t count = 1;
  for (const int64_t dim : shape)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count) || count > kMax) return false;
  return true;
}

template <typename T>
T whole(const json& value, const char* name, const std::string& path) {
  require_whole_number(value, name, path, ErrorKind::checkpoint);
  return value.get<T>();
}

CheckpointManifest from_json(const json& all, const std::string& path) {
  if (all.at("format") != kFormat) fail(ErrorKind::checkpoint, fmt::format("{} is not a Weft manifest", path));
  const json& version = all.at("format_version");
  if (!version.is_number_integer() || version < 1 || version > kNewestVersion)
    fail(ErrorKind::checkpoint, fmt::format("{}: format_version {} is unknown; this program reads versions 1 to {}",
                                            path, printable(version.dump()), kNewestVersion));
  CheckpointManifest manifest{.format_version = version.get<int64_t>()};
  manifest.step = whole<int64_t>(all.at("step"), "step", path);
  manifest.weft_version = all.at("weft_version").get<std::string>();
  manifest.dp = whole<int64_t>(all.at("grid").at("dp"), "dp", path);
  manifest.tp = whole<int64_t>(all.at("grid").at("tp"), "tp", path);
  for (const auto& [name, file] : all.at("files").items()) {
    if (!is_plain_file_name(name))
      fail(ErrorKind::checkpoint, fmt::format("{}: '{}' is not a plain file name", path, printable(name)));
    manifest.files[name] = {whole<uint64_t>(file.at("size"), "size", path), file.at("sha256").get<std::string>()};
  }
  for (const auto& [name, t] : all.at("tensors").items()) {
    std::vector<int64_t> shape;
    for (const json& dim : t.at("shape")) shape.push_back(whole<int64_t>(dim, "a dimension", path));
    manifest.tensors[name] = {t.at("file").get<std::string>(), t.at("dtype").get<std::string>(), shape};
    if (!is_possible(manifest.tensors[name].shape))
      fail(ErrorKind::checkpoint, fmt::format("{}: tensor '{}' has an impossible shape", path, printable(name)));
  }
  return manifest;
}

}  // namespace

std::string step_folder_name(int64_t step) { return fmt::format("step-{:08d}", step); }

std::optional<int64_t> step_of_folder(const std::string& name) {
  const std::string prefix = "step-";
  const std::string digits = name.starts_with(prefix) ? name.substr(prefix.size()) : "";
  const bool all_digits = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits.size() < 8 || digits.size() > 18 || !all_digits) return std::nullopt;
  const int64_t step = std::stoll(digits);
  return step_folder_name(step) == name ? std::optional(step) : std::nullopt;
}

int64_t step_of_checkpoint(const std::string& path) {
  const std::filesystem::path folder(path);
  return *step_of_folder((folder.has_filename() ? folder : folder.parent_path()).filename().string());
}

bool is_temporary_name(const std::string& name) {
  const size_t dot = name.find(".tmp-");
  return dot != std::string::npos && step_of_folder(name.substr(0, dot));
}

bool is_plain_file_name(const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(),
                                 [](char c) { return c != '/' && static_cast<unsigned char>(c) >= 32 && c != 127; });
  return plain && !name.empty() && name.size() <= NAME_MAX && name != "." && name != "..";
}

FileDigest write_checkpoint_manifest(const std::string& folder, const CheckpointManifest& manifest) {
  return write_digested(folder + "/" + kManifestName, to_text(manifest));
}

CheckpointManifest read_checkpoint_manifest(const std::string& folder) {
  const CheckedReader reader(folder + "/" + kManifestName);
  const std::string& path = reader.path();
  const std::string text = reader.read_all();
  const std::string body = text.substr(0, text.size() - std::min(text.size(), kSealBytes));
  if (text != body + seal(body))
    fail(ErrorKind::checkpoint, fmt::format("{} is damaged: it does not match the digest in its last lines", path));
  CheckpointManifest manifest;
  try {
    manifest = from_json(parse_strict_json(text, path, ErrorKind::checkpoint), path);
  } catch (const json::exception& e) {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", path, e.what()));
  }
  const auto step = step_of_folder(std::filesystem::path(folder).filename().string());
  if (step && *step != manifest.step)
    fail(ErrorKind::checkpoint, fmt::format("{}: the step {} differs from the folder's name", path, manifest.step));
  for (const auto& [name, digest] : manifest.files) CheckedReader(folder + "/" + name).verify_size(digest);
  return manifest;
}

void verify_small_files(const std::string& folder, const CheckpointManifest& manifest) {
  for (const auto& [name, digest] : manifest.files)
    if (!name.ends_with(".safetensors")) CheckedReader(folder + "/" + name).verify(digest);
}

void verify_checkpoint(const std::string& folder) {
  const CheckpointManifest manifest = read_checkpoint_manifest(folder);
  for (const auto& [name, digest] : manifest.files) CheckedReader(folder + "/" + name).verify(digest);
}

}  // namespace weft
