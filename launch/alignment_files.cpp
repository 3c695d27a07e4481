// launch/alignment_files.cpp: alignments as Pharaoh lines, JSON lines and heat maps.
#include "launch/alignment_files.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tensor/error.h"
#include "trainer/heat_map.h"

namespace weft {
namespace {

std::vector<std::string> labels(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(tokenizer.piece(id));
  return pieces;
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
  int64_t place = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), place);
  if (error != std::errc() || end != text.data() + text.size() || place < 0 || place >= count)
    fail_value(option, text, allowed);
  return place;
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

class Drawings : public AlignmentFile {
 public:
  using Draw = std::function<std::string(const Alignment&, int64_t line)>;
  Drawings(const std::string& path, Draw draw) : path_(path), draw_(std::move(draw)) {
    if (path_.has_parent_path() && !std::filesystem::is_directory(path_.parent_path()))
      fail(ErrorKind::io, fmt::format("cannot draw {}: there is no folder {}", path, path_.parent_path().string()));
  }
  void add(const Alignment& alignment) override {
    std::string svg = draw_(alignment, ++lines_);
    if (lines_ == 1) {  // whether it is the only one is not known yet
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
  std::string numbered(int64_t line) const {
    const std::filesystem::path name = fmt::format("{}-{:04}.svg", path_.stem().string(), line);
    return (path_.parent_path() / name).string();
  }

  std::filesystem::path path_;
  Draw draw_;
  std::string first_;
  int64_t lines_ = 0;
};

}  // namespace

void AlignmentRequest::add_to(Options& options) {
  files.clear();  // a second parse lists them again
  options.add(
      "alignment", files,
      "keep cross-attention: NAME.svg draws it (several lines: NAME-0001.svg, ...), NAME.jsonl has all numbers, "
      "other names Pharaoh's `0-0 2-1`; repeatable");
  options.add("alignment-layer", layer, "decoder layer that is kept: last, mean, or a number from 0");
  options.add("alignment-head", head, "head that is kept: mean, or a number from 0");
}

void AlignmentRequest::check(const Options& options) const {
  for (const char* name : {"alignment-layer", "alignment-head"})
    if (options.given(name) && !wanted())
      fail(ErrorKind::usage, fmt::format("--{} chooses what --alignment FILE keeps, which is not given", name));
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
  return fmt::format(R"({{"source":{},"target":{},"weights":[{}]}})", nlohmann::json(labels(a.source, source)).dump(),
                     nlohmann::json(labels(a.target, target)).dump(), rows);
}

std::string drawing(const Alignment& a, const Tokenizer& source, const Tokenizer& target, const std::string& title) {
  return to_svg({.title = title,
                 .row_axis = a.target.empty() ? "" : "translation",
                 .column_axis = a.source.empty() ? "" : "source",
                 .rows = labels(a.target, target),
                 .columns = labels(a.source, source),
                 .values = a.weights});
}

std::unique_ptr<AlignmentFile> open_alignment_file(const std::string& path, const Tokenizer& source,
                                                   const Tokenizer& target, const std::string& title) {
  if (path.ends_with(".svg"))
    return std::make_unique<Drawings>(path, [&source, &target, title](const Alignment& a, int64_t line) {
      return drawing(a, source, target, fmt::format("line {}: cross-attention, {}", line, title));
    });
  if (path.ends_with(".jsonl"))
    return std::make_unique<LinesFile>(path,
                                       [&source, &target](const Alignment& a) { return json_line(a, source, target); });
  return std::make_unique<LinesFile>(path, pharaoh_line);
}

}  // namespace weft
