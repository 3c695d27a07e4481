// trainer/validation/validation_command.cpp: writes the command's input files, reads its score, and handles failures.
#include "trainer/validation/validation_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "data/text/number.h"
#include "data/text/unicode.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/validation/validation_metric.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestQuoted = 200;
constexpr const char* kKinds[] = {"source", "hypothesis", "reference"};

std::string last_line_of(std::string_view output) {
  const std::string_view text = trim(output);
  return printable(text.substr(text.rfind('\n') + 1), kLongestQuoted);
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  std::ofstream file(path, std::ios::binary);
  for (const std::string& line : lines) file << line << '\n';
  file.close();
  if (!file) fail(ErrorKind::io, fmt::format("{} cannot be written", path));
}

std::string file_name(const std::string& set, const char* kind) {
  return fmt::format("{}{}{}", set, set.empty() ? "" : ".", kind);
}

void remove_entries(const std::string& folder, const std::function<bool(const std::string&)>& is_wanted) {
  std::vector<fs::path> others;
  std::error_code ignored;  // the next removal tries again
  for (fs::directory_iterator it(folder, ignored), end; !ignored && it != end; it.increment(ignored))
    if (!is_wanted(it->path().filename().string())) others.push_back(it->path());
  for (const fs::path& path : others) fs::remove_all(path, ignored);
}

}  // namespace

std::optional<double> number_at_end(const std::string& output) {
  const std::vector<std::string_view> words = split_words(output);
  return words.empty() ? std::nullopt : parse_number<double>(words.back());
}

ValidationCommand::ValidationCommand(std::string folder, std::string command, double limit_seconds,
                                     std::vector<std::string> sets)
    : folder_(std::move(folder)), command_(std::move(command)), limit_seconds_(limit_seconds), sets_(std::move(sets)) {}

std::string ValidationCommand::folder_of(int64_t step) const { return folder_ + "/" + step_folder_name(step); }

std::string ValidationCommand::file(const Job& job, const char* kind) const {
  return folder_of(job.step) + "/" + file_name(sets_[job.next_set], kind);
}

void ValidationCommand::queue(int64_t step) { jobs_.push_back({.step = step, .result = {.step = step}}); }

void ValidationCommand::add(int64_t step, const std::vector<SetTexts>& texts) {
  queue(step);
  Job& job = jobs_.back();
  try {
    fs::create_directory(folder_);  // not its parents, because a run must not create its removed folder again
    fs::create_directory(folder_of(step));
    for (const SetTexts& set : texts) {
      write_lines(file(job, "source"), set.sources);
      write_lines(file(job, "hypothesis"), set.hypotheses);
      write_lines(file(job, "reference"), set.references);
      ++job.next_set;
    }
  } catch (const std::exception& e) {
    job.result.failure = e.what();
  }
  job.next_set = 0;
}

void ValidationCommand::start(Job& job) {
  for (const char* kind : kKinds)
    if (!fs::exists(file(job, kind))) fail(ErrorKind::io, fmt::format("{} no longer exists", file(job, kind)));
  child_.emplace(command_, ChildCommand::Environment{{"WEFT_SOURCE", file(job, "source")},
                                                     {"WEFT_HYPOTHESIS", file(job, "hypothesis")},
                                                     {"WEFT_REFERENCE", file(job, "reference")},
                                                     {"WEFT_SET", sets_[job.next_set]},
                                                     {"WEFT_STEP", std::to_string(job.step)}});
}

double ValidationCommand::score_of(const ChildCommand& child, int status) {
  if (status != 0) {
    const std::string said = last_line_of(child.error());
    fail(ErrorKind::io, fmt::format("exit status {}{}{}", status, said.empty() ? "" : ": ", said));
  }
  const auto number = number_at_end(child.output());
  if (!number)
    fail(ErrorKind::io,
         fmt::format("the output must end with a number, but ends with '{}'", last_line_of(child.output())));
  return *number;
}

std::optional<CommandScore> ValidationCommand::poll() {
  if (jobs_.empty()) return std::nullopt;
  Job& job = jobs_.front();
  try {
    if (job.result.failure.empty() && !child_) start(job);
    if (child_) {
      const std::optional<int> status = child_->poll();
      if (!status && child_->seconds() < limit_seconds_) return std::nullopt;
      if (!status)
        fail(ErrorKind::io,
             fmt::format("killed after {} minutes, the limit of train.validate_command_minutes", limit_seconds_ / 60));
      const double score = score_of(*child_, *status);
      const std::string& set = sets_[job.next_set];
      if (job.next_set == 0) job.result.scores["score"] = score;
      job.result.scores[validation_key(set, "score")] = score;
    }
  } catch (const std::exception& e) {
    job.result.failure =
        sets_[job.next_set].empty() ? e.what() : fmt::format("set {}: {}", sets_[job.next_set], e.what());
  }
  stop();
  if (job.result.failure.empty() && ++job.next_set < sets_.size()) return poll();
  const CommandScore result = std::move(job.result);
  jobs_.pop_front();
  return result;
}

void ValidationCommand::stop() {
  child_.reset();
  if (!jobs_.empty()) remove_files_of_command(jobs_.front().step);
}

void ValidationCommand::drop_after(int64_t step) {
  if (!jobs_.empty() && jobs_.front().step > step) stop();
  std::erase_if(jobs_, [&](const Job& job) { return job.step > step; });
}

// The command may write files beside its input, which must not take space once it has ended.
void ValidationCommand::remove_files_of_command(int64_t step) const {
  std::set<std::string> own;
  for (const std::string& set : sets_)
    for (const char* kind : kKinds) own.insert(file_name(set, kind));
  remove_entries(folder_of(step), [&](const std::string& name) { return own.contains(name); });
}

void ValidationCommand::remove_texts_except(std::set<int64_t> kept) {
  for (const Job& job : jobs_) kept.insert(job.step);
  remove_entries(folder_, [&](const std::string& name) {
    const auto step = step_of_folder(name);
    return !step || kept.contains(*step);
  });
  for (const int64_t step : kept)
    if (!child_ || step != jobs_.front().step) remove_files_of_command(step);
}

void remove_validation_texts(const std::string& folder) {
  remove_entries(folder, [](const std::string& name) { return !step_of_folder(name); });
}

}  // namespace weft
