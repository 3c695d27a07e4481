// trainer/validation/validation_command.h: runs train.validate_command on the texts of validations, one at a time.
//
// Only the main rank owns one. Nothing here waits for the command. A failure is not an Error, but leaves a validation
// without a score. docs/validation.md describes the command's input and output.
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
  std::string set;  // name of the set; empty: the only set, which has no name
  std::vector<std::string> sources, hypotheses, references;
};

struct CommandScore {
  int64_t step = 0;                      // step of the validation
  std::map<std::string, double> scores;  // by their keys in log.jsonl
  std::string failure;                   // why there are none; otherwise empty
};

class ValidationCommand {
 public:
  // Texts are written to one folder per step in `folder`. `sets` are names, in the order of data.valid.
  ValidationCommand(std::string folder, std::string command, double limit_seconds, std::vector<std::string> sets);

  // Adds the validation after `step` to the queue. queue() does so if an earlier start has written its texts.
  void add(int64_t step, const std::vector<SetTexts>& texts);
  void queue(int64_t step);
  // Starts and tracks the command. Returns the scores of a validation when its last set has been scored.
  std::optional<CommandScore> poll();
  void drop_after(int64_t step);                     // drops validations after later steps
  void remove_texts_except(std::set<int64_t> kept);  // also keeps texts of the queue

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
  std::deque<Job> jobs_;  // the first one is running
  std::optional<ChildCommand> child_;
};

// Returns the number that is the last word of a command's output; nullopt if the last word is not a number.
std::optional<double> number_at_end(const std::string& output);

}  // namespace weft
