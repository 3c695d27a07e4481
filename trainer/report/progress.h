// trainer/report/progress.h: progress for people: a bar on a terminal, plain lines on a pipe.
//
// All output goes to stderr, so that stdout has only results. On a terminal one row is redrawn in place, at
// most ten times a second and never wider than the terminal. On a pipe every line is permanent. A bar is used
// by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft {

// Whether `file`, a descriptor, is a terminal that can move its cursor: TERM is set, and is not "dumb".
bool can_redraw(int file);

enum class ProgressStyle : uint8_t { quiet, lines, bar };

struct ProgressOutput {  // where progress is written; tests replace it
  ProgressStyle style = ProgressStyle::lines;
  std::function<void(std::string_view)> write;
  std::function<double()> seconds;  // a monotonic clock
  std::function<int()> width;       // columns of the terminal, read at each redraw

  static ProgressOutput standard(bool quiet = false);  // stderr: bar if it is a terminal, else lines
};

// For work of known or unknown length: packing, translating, hashing. Lines come every 10 % or 10 s.
class ProgressBar {
 public:
  ProgressBar(std::string title, int64_t total, ProgressOutput out = ProgressOutput::standard());  // total 0: unknown
  ~ProgressBar();  // leaves the last state on the screen
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
  std::string data;     // its stage and epochs, with stages or a mix; else empty
  double fraction = 0;  // of the whole run, by steps or by minutes, whichever ends first
  double loss = 0, nll = 0, lr = 0, grad_norm = 0;
  double source_tokens_per_second = 0, target_tokens_per_second = 0;  // real tokens, all ranks
  double fill = 0;                                                    // of the blocks' rows, 0 to 1
  double mfu = 0;                                                     // model FLOP utilisation, 0 to 1; 0: not known
  double roofline = 0;  // the least time of a step, as a share of its time; 0: not known
  double eta_seconds = 0;
};

// Loss, NLL, perplexity, ... in one line. Of what does not fit in `width` columns, perplexity goes first, then the
// learning rate, ...; the step, the loss and the time that is left stay.
std::string train_line(const TrainStatus& s, size_t width = std::string::npos);

// The trainer's progress: on a pipe a line every `log_every` steps, on a terminal a bar that is redrawn.
class TrainProgress {
 public:
  explicit TrainProgress(int64_t log_every, ProgressOutput out = ProgressOutput::standard());
  ~TrainProgress();
  TrainProgress(const TrainProgress&) = delete;
  TrainProgress& operator=(const TrainProgress&) = delete;

  void step(const TrainStatus& s);
  void message(std::string_view text);  // a permanent line above the bar: a validation, a checkpoint

 private:
  int64_t log_every_;
  ProgressOutput out_;
  std::string row_;  // current content of the terminal's row
  double shown_at_ = 0;
};

}  // namespace weft
