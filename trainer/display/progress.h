// trainer/display/progress.h: shows the progress of work as a bar on a terminal, or as plain lines on a pipe.
//
// All output goes to stderr, so stdout contains only results. On a terminal, one row is redrawn in place, at most ten
// times per second and never wider than the terminal. On a pipe, every line is permanent. REQUIRES: only one thread
// uses a bar.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft {

// Returns true if the descriptor `file` is a terminal whose cursor can be moved: TERM is set and is not "dumb".
bool can_redraw(int file);

// Returns the width in columns of the terminal that shows standard output or standard error, also through the pipes of
// a launcher. Without a terminal, returns the environment variable COLUMNS, or 110 if COLUMNS is not set.
size_t output_columns();

enum class ProgressStyle : uint8_t { quiet, lines, bar };

struct ProgressOutput {  // where progress is written; tests replace it
  ProgressStyle style = ProgressStyle::lines;
  std::function<void(std::string_view)> write;
  std::function<double()> seconds;  // a monotonic clock
  std::function<int()> width;       // columns of the terminal, read at each redraw

  static ProgressOutput standard(bool quiet = false);  // stderr: a bar on a terminal, otherwise lines
};

// Shows the progress of work of known or unknown length. Prints lines every 10 % of the work or every 10 s.
class ProgressBar {
 public:
  // `unit` is a plural noun for what is counted. A `total` of 0 means that their number is unknown; update() may then
  // say which share of the work is done.
  ProgressBar(std::string title, std::string unit, int64_t total, ProgressOutput out = ProgressOutput::standard());
  ~ProgressBar();  // leaves the last state on the screen
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void continue_from(int64_t done, double share);  // what was done earlier counts for no rate
  void update(int64_t done, double share = 0, const std::string& note = "");  // `note` follows the rate

 private:
  double share() const;  // of the work; 0 if unknown
  std::string line(int width) const;
  void show();

  std::string title_, unit_;
  int64_t total_, done_ = 0, done_earlier_ = 0;
  double share_ = 0, share_earlier_ = 0, shown_share_ = 0;
  std::string note_;
  ProgressOutput out_;
  double begin_, shown_at_;
  int64_t shown_done_ = -1;
};

// Shows the state of long work in the caller's words, as a bar that is redrawn on a terminal or as lines on a pipe.
class StatusRow {
 public:
  explicit StatusRow(ProgressOutput out = ProgressOutput::standard());
  ~StatusRow();  // leaves the last state on the screen
  StatusRow(const StatusRow&) = delete;
  StatusRow& operator=(const StatusRow&) = delete;

  // Shows that `fraction` of the work is done. text(n) describes the state in at most n columns.
  void show(double fraction, bool line_is_due, const std::function<std::string(size_t)>& text);
  void message(std::string_view text);  // prints a permanent line above the bar

 private:
  ProgressOutput out_;
  std::string row_;  // current content of the terminal's row
  double shown_at_ = 0;
};

}  // namespace weft
