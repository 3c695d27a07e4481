// trainer/validation/validation_command.h: runs train.validate_command on the texts of validations, one at a time.
//
// Only the main rank owns a ValidationCommand. No function waits for the command. If the command fails, the validation
// has no score, but no Error is thrown. docs/validation.md describes the command's input and output.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainer/validation/child_command.h"

namespace weft {

struct SetTexts {
  std::string set;  // name of the set; empty if the only set has no name
  std::vector<std::string> sources, hypotheses, references;
};

struct CommandScore {
  int64_t step = 0;                      // step of the validation
  std::map<std::string, double> scores;  // by their keys in log.jsonl
  std::string failure;                   // why there are no scores; otherwise empty
};

class ValidationCommand {
 public:
  // Texts are written to `folder`, in one folder per step. `sets` lists the sets' names in the order of data.valid.
  ValidationCommand(std::string folder, std::string command, double limit_seconds, std::vector<std::string> sets);

  // add() writes the texts of the validation after `step` and queues it. queue() uses the texts of an earlier start.
  void add(int64_t step, const std::vector<SetTexts>& texts);
  void queue(int64_t step);
  // Starts and tracks the command. Returns a validation's result once all sets are scored or the command has failed.
  std::optional<CommandScore> poll();
  void stop();                    // ends the command, which the next poll() starts again
  void drop_after(int64_t step);  // drops validations of later steps
  // Removes the texts of all other validations, except queued ones, and files of the command beside the kept texts.
  void remove_texts_except(std::set<int64_t> kept);

 private:
  struct Job {
    int64_t step = 0;
    size_t next_set = 0;
    CommandScore result;
  };
  std::string folder_of(int64_t step) const;
  std::string file(const Job& job, const char* kind) const;
  void remove_files_of_command(int64_t step) const;
  void start(Job& job);
  static double score_of(const ChildCommand& child, int status);

  const std::string folder_, command_;
  const double limit_seconds_;
  const std::vector<std::string> sets_;
  std::deque<Job> jobs_;  // the first job is the current one
  std::optional<ChildCommand> child_;
};

// Removes the texts of all validations in `folder`.
void remove_validation_texts(const std::string& folder);

// Returns the number that is the last word of a command's output; nullopt if the last word is not a number.
std::optional<double> number_at_end(const std::string& output);

}  // namespace weft
