// trainer/validation/validation_command.h: runs train.validate_command on the translations of validations, one after
// the other, beside the training.
//
// Only the main rank has one. Nothing here waits for the command, and no failure is an Error: a validation then has no
// score. docs/validation.md describes what a command gets and gives.
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
  std::string set;  // its name; empty: the only set, which has none
  std::vector<std::string> sources, hypotheses, references;
};

struct CommandScore {
  int64_t step = 0;                      // of the validation
  std::map<std::string, double> scores;  // by their keys in log.jsonl
  std::string failure;                   // why there are none; else empty
};

class ValidationCommand {
 public:
  // `folder`: for the texts, a folder for each step in it. `sets`: names, in the order of data.valid.
  ValidationCommand(std::string folder, std::string command, double limit_seconds, std::vector<std::string> sets);

  // Adds the validation after `step` to those that wait. queue(): whose texts an earlier start wrote.
  void add(int64_t step, const std::vector<SetTexts>& texts);
  void queue(int64_t step);
  // Starts and follows the command. Returns the scores of a validation when the last of its sets has one.
  std::optional<CommandScore> poll();
  void drop_after(int64_t step);                     // validations after later steps
  void remove_texts_except(std::set<int64_t> kept);  // and those of the waiting ones

 private:
  struct Job {
    int64_t step = 0;
    size_t next_set = 0;
    CommandScore result;
  };
  std::string folder_of(int64_t step) const;
  std::string file(const Job& job, const char* kind) const;
  void start(Job& job);
  double score_of(const Job& job, int status) const;

  const std::string folder_, command_;
  const double limit_seconds_;
  const std::vector<std::string> sets_;
  std::deque<Job> jobs_;  // the first is at work
  std::optional<ChildCommand> child_;
};

// The number that is the last word of a command's output; nothing if there is none.
std::optional<double> number_at_end(const std::string& output);

}  // namespace weft
