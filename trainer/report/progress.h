// trainer/report/progress.h: what a person sees while work goes on: a bar on a terminal, plain lines on a pipe.
//
// Everything goes to stderr, so that stdout holds results only. On a terminal one row is redrawn in place, at most ten
// times a second and never wider than the terminal. On a pipe there are lines that stand. One thread uses a bar.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft {

enum class ProgressStyle : uint8_t { quiet, lines, bar };

struct ProgressOutput {  // where progress goes; tests give their own
  ProgressStyle style = ProgressStyle::lines;
  std::function<void(std::string_view)> write;
  std::function<double()> seconds;  // a clock that never goes back
  std::function<int()> width;       // columns of the terminal, asked at each redraw

  static ProgressOutput standard(bool quiet = false);  // stderr: bar if it is a terminal, else lines
};

// For work of known or unknown length: packing, translating, hashing. Lines come every 10 % or 10 s.
class ProgressBar {
 public:
  ProgressBar(std::string title, int64_t total, ProgressOutput out = ProgressOutput::standard());  // total 0: unknown
  ~ProgressBar();  // leaves the last state standing
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(int64_t done, std::string_view extra = {});

 private:
  std::string line(int width) const;
  void show();

  std::string title_;
  int64_t total_, done_ = 0;
  std::string extra_;
  ProgressOutput out_;
  double begin_, shown_at_;
  int64_t shown_done_ = -1;
};

struct TrainStatus {
  int64_t step = 0, total_steps = 0;
  double fraction = 0;  // of the whole run, by steps or by minutes, whichever ends first
  double loss = 0, nll = 0, lr = 0, grad_norm = 0;
  double source_tokens_per_second = 0, target_tokens_per_second = 0;  // real tokens, all ranks
  double fill = 0;                                                    // of the blocks' rows, 0 to 1
  double eta_seconds = 0;
};

std::string train_line(const TrainStatus& s);  // loss, NLL, perplexity, ... in one line

// The trainer's line: on a pipe one every `log_every` steps, on a terminal a bar that is redrawn.
class TrainProgress {
 public:
  explicit TrainProgress(int64_t log_every, ProgressOutput out = ProgressOutput::standard());
  ~TrainProgress();
  TrainProgress(const TrainProgress&) = delete;
  TrainProgress& operator=(const TrainProgress&) = delete;

  void step(const TrainStatus& s);
  void message(std::string_view text);  // a line that stands, above the bar: a validation, a checkpoint

 private:
  int64_t log_every_;
  ProgressOutput out_;
  std::string row_;  // what the terminal's row shows now
  double shown_at_ = 0;
};

}  // namespace weft
