// launch/reports/alignment_files.cpp: writes alignments as Pharaoh lines, JSON lines and heat maps.
#include "launch/reports/alignment_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "data/atomic_file.h"
#include "data/text/number.h"
#include "launch/reports/json_lines.h"
#include "tensor/error.h"
#include "trainer/config/nearest.h"
#include "trainer/display/heat_map.h"

namespace weft {

namespace fs = std::filesystem;

namespace {

constexpr const char* kHeading = ": cross-attention, ";  // follows "line N" in a drawing's title

constexpr int kDrawingSize = 1100;  // pixels for all cells, unless they would become too small
constexpr int kSmallestCell = 6, kLargestCell = 22, kLabelFont = 13;

enum class Form { pharaoh, json_lines, drawings };

// Returns the format of a file. Refuses extensions such as `.json` and `.SVG`, which would silently mean Pharaoh lines.
Form form_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string(), ending = fs::path(path).extension().string();
  for (const std::string known : {".svg", ".jsonl"}) {
    if (name == known)
      fail(ErrorKind::usage, fmt::format("--alignment {}: the name before {} is missing", path, known));
    if (ending == known) return known == ".svg" ? Form::drawings : Form::json_lines;
    std::string lower = ending;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    if (edit_distance(lower, known) <= static_cast<int>(known.size()) / 3)
      fail(ErrorKind::usage,
           fmt::format("--alignment {}: unknown extension '{}'; did you mean {}?", path, ending, known));
  }
  return Form::pharaoh;
}

std::string row_of(const Alignment& a, size_t target) {
  std::string row;
  for (size_t s = 0; s < a.source.size(); ++s) {
    const float weight = a.at(target, s);
    row += (s ? "," : "") + (std::isfinite(weight) ? fmt::format("{:.6g}", weight) : "null");
  }
  return "[" + row + "]";
}

int64_t parse_place(const std::string& option, const std::string& text, int64_t count) {
  if (text == "mean") return -1;
  if (option == "alignment-layer" && text == "last") return count - 1;
  const std::string allowed =
      fmt::format("0 to {}, {}mean", count - 1, option == "alignment-layer" ? "last or " : "or ");
  const std::optional<int64_t> place = parse_number<int64_t>(text);
  if (!place || *place < 0 || *place >= count) fail_value(option, text, allowed);
  return *place;
}

class LinesFile : public AlignmentFile {
 public:
  using Format = std::function<std::string(const Alignment&)>;
  LinesFile(const std::string& path, Format format) : file_(path), format_(std::move(format)) {}
  void add(const Alignment& alignment) override { file_.write(format_(alignment) + "\n"); }
  void finish() override { file_.commit(); }

 private:
  AtomicFile file_;
  Format format_;
};

// True if Weft drew the file. Files from other programs are never removed.
bool is_drawing(const fs::path& path) {
  std::string start(1000, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return start.find("<title>line ") != std::string::npos && start.find(kHeading) != std::string::npos;
}

bool is_numbered(const std::string& stem, const std::string& name) {  // true for name-0001, name-0002, ...
  return stem.size() >= name.size() + 5 && stem.starts_with(name + "-") &&
         std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(name.size()) + 1, stem.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

class Drawings : public AlignmentFile {
 public:
  using Draw = std::function<std::string(const Alignment&, int64_t line)>;
  Drawings(const std::string& path, Draw draw) : path_(path), draw_(std::move(draw)) {
    prepare_output(path);
    remove_earlier();
  }
  void add(const Alignment& alignment) override {
    std::string svg = draw_(alignment, ++lines_);
    if (lines_ == 1) {  // it may be the only line
      first_ = std::move(svg);
      return;
    }
    if (lines_ == 2) write_file_atomically(numbered(1), first_);
    write_file_atomically(numbered(lines_), svg);
  }
  void finish() override {
    if (lines_ == 1) write_file_atomically(path_.string(), first_);
  }

 private:
  // Removes the drawings of an earlier text, because some would otherwise seem to belong to this text.
  void remove_earlier() const {
    const std::string name = path_.stem().string();
    std::vector<fs::path> earlier;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(path_.has_parent_path() ? path_.parent_path() : ".")) {
      const fs::path& path = entry.path();
      if (path.extension() == ".svg" && (path.stem() == name || is_numbered(path.stem().string(), name)) &&
          entry.symlink_status().type() == fs::file_type::regular && is_drawing(path))
        earlier.push_back(path);
    }
    for (const fs::path& path : earlier) fs::remove(path);
  }
  std::string numbered(int64_t line) const {
    const fs::path name = fmt::format("{}-{:04}.svg", path_.stem().string(), line);
    return (path_.parent_path() / name).string();
  }

  fs::path path_;
  Draw draw_;
  std::string first_;
  int64_t lines_ = 0;
};

}  // namespace

void AlignmentRequest::add_to(Options& options) {
  options.add("alignment", files,
              "file for cross-attention, in the format of its suffix: .svg = one drawing per sentence (NAME-0001.svg, "
              "... if there are several), which replaces older drawings; .jsonl = all weights; others = Pharaoh (`0-0 "
              "2-1`); - = into the lines of --json; repeat the option for several files");
  options.add("alignment-layer", layer, "decoder layer for --alignment: last, mean (of all), or a number from 0 up");
  options.add("alignment-head", head, "attention head for --alignment: mean (of all), or a number from 0 up");
}

void AlignmentRequest::check(const Options& options) const {
  for (const char* name : {"alignment-layer", "alignment-head"})
    if (options.given(name) && !wanted()) fail(ErrorKind::usage, fmt::format("--{} needs --alignment FILE", name));
  if (in_json() && !options.given("json"))
    fail(ErrorKind::usage, "--alignment - needs --json, whose lines contain the alignment");
}

std::vector<std::string> AlignmentRequest::paths() const {
  std::vector<std::string> paths;
  std::ranges::copy_if(files, std::back_inserter(paths), [](const std::string& file) { return file != kInJson; });
  return paths;
}

bool AlignmentRequest::draws() const {
  return std::ranges::any_of(paths(), [](const std::string& path) { return form_of(path) == Form::drawings; });
}

void AlignmentRequest::check_files() const {
  std::set<fs::path> seen;
  for (const std::string& file : paths()) {
    form_of(file);
    prepare_output(file);
    if (!seen.insert(fs::weakly_canonical(fs::absolute(file))).second)
      fail(ErrorKind::usage, fmt::format("--alignment {}: this file is given twice", file));
  }
}

Transformer::AttentionChoice AlignmentRequest::choice(const ModelConfig& model) const {
  return {.layer = parse_place("alignment-layer", layer, model.decoder_layers),
          .head = parse_place("alignment-head", head, model.heads)};
}

std::string AlignmentRequest::describe(const ModelConfig& model) const {
  const Transformer::AttentionChoice c = choice(model);
  return fmt::format(
      "{}, {}", c.layer < 0 ? fmt::format("mean of {} layers", model.decoder_layers) : fmt::format("layer {}", c.layer),
      c.head < 0 ? fmt::format("mean of {} heads", model.heads) : fmt::format("head {}", c.head));
}

std::string pharaoh_line(const Alignment& alignment) {
  std::string line;
  for (const AlignmentLink& link : best_links(alignment))
    line += fmt::format("{}{}-{}", line.empty() ? "" : " ", link.source, link.target);
  return line;
}

std::string json_line(const Alignment& a, const Tokenizer& source, const Tokenizer& target) {
  std::string rows;
  for (size_t t = 0; t < a.target.size(); ++t) rows += (t ? "," : "") + row_of(a, t);
  return fmt::format(R"({{"source":{},"target":{},"weights":[{}]}})",
                     on_one_line(nlohmann::json(pieces_of(a.source, source)).dump()),
                     on_one_line(nlohmann::json(pieces_of(a.target, target)).dump()), rows);
}

std::string drawing(const Alignment& a, const Tokenizer& source, const Tokenizer& target, const std::string& title) {
  double most = 0;  // scales the colors, because a diffuse map would otherwise be almost white
  for (const float weight : a.weights)
    if (std::isfinite(weight)) most = std::max(most, static_cast<double>(weight));
  const auto longest = static_cast<int>(std::max({a.source.size(), a.target.size(), size_t{1}}));
  const int cell = std::clamp(kDrawingSize / longest, kSmallestCell, kLargestCell);
  return to_svg({.title = title,
                 .row_axis = a.target.empty() ? "" : "translation",
                 .column_axis = a.source.empty() ? "" : "source",
                 .rows = pieces_of(a.target, target),
                 .columns = pieces_of(a.source, source),
                 .values = a.weights,
                 .high = most > 0 ? most : 1,
                 .cell = cell,
                 .label_font = std::min(kLabelFont, cell - 1)});
}

std::string alignment_line(const std::string& path, const Alignment& alignment, const Tokenizer& source,
                           const Tokenizer& target) {
  return form_of(path) == Form::json_lines ? json_line(alignment, source, target) : pharaoh_line(alignment);
}

std::unique_ptr<AlignmentFile> open_alignment_file(const std::string& path, const Tokenizer& source,
                                                   const Tokenizer& target, const std::string& title) {
  if (form_of(path) != Form::drawings)
    return std::make_unique<LinesFile>(
        path, [path, &source, &target](const Alignment& a) { return alignment_line(path, a, source, target); });
  return std::make_unique<Drawings>(path, [&source, &target, title](const Alignment& a, int64_t line) {
    return drawing(a, source, target, fmt::format("line {}{}{}", line, kHeading, title));
  });
}

}  // namespace weft
