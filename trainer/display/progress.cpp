// trainer/display/progress.cpp: draws bars and lines, and finds the terminal that shows them.
#include "trainer/display/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "tensor/clock.h"
#include "trainer/display/units.h"

namespace weft {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kLineSeconds = 10;
constexpr int kLinesInAll = 10;

void write_stderr(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;  // nobody reads the pipe, but the work continues
    text.remove_prefix(static_cast<size_t>(n));
  }
}

int open_terminal_of(pid_t process) {  // opens the stderr of `process`; -1 if it is not a terminal
  const int fd = ::open(fmt::format("/proc/{}/fd/2", process).c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || isatty(fd)) return fd;
  ::close(fd);
  return -1;
}

pid_t parent_of(pid_t process) {  // 0: unknown
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:")) return static_cast<pid_t>(std::atoi(line.c_str() + 5));
  return 0;
}

bool runs_this_program(pid_t process) {
  std::error_code failed;
  return std::filesystem::equivalent(fmt::format("/proc/{}/exe", process), "/proc/self/exe", failed);
}

// mpirun copies its ranks' stderr to its own stderr, so a rank's output appears on mpirun's terminal. If `weft launch`
// started mpirun, `weft launch` copies mpirun's stderr in the same way.
int open_terminal_of_launcher() {
  const pid_t mpirun = getppid();
  if (const int fd = open_terminal_of(mpirun); fd >= 0) return fd;
  const pid_t launch = parent_of(mpirun);
  return launch > 0 && runs_this_program(launch) ? open_terminal_of(launch) : -1;
}

// Returns the descriptor of the terminal that shows stderr; -1 if there is none.
int terminal() {
  if (isatty(STDERR_FILENO)) return STDERR_FILENO;
  if (std::getenv("OMPI_COMM_WORLD_RANK") == nullptr) return -1;
  static const int fd = open_terminal_of_launcher();
  return fd;
}

int columns_of(int file) {  // 0 if it is not a terminal
  winsize size{};
  return ioctl(file, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int terminal_width() {
  const int columns = columns_of(terminal());
  return columns > 0 ? columns : 80;
}

std::string bar(double fraction, int cells) {
  const int full = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * cells));
  return "[" + std::string(full, '#') + std::string(cells - full, '.') + "]";
}

constexpr int kPercentColumns = 7;  // "100%  " and one free column

// Returns a row with a bar, the percentage and `text`. If `width` is too small, omits the bar and cuts off `text`.
std::string bar_row(double fraction, std::string_view text, int width) {
  const int percent = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100);
  const int room = width - 1 - static_cast<int>(text.size()) - 9;  // brackets, percentage, spaces
  std::string row = room >= 5 ? fmt::format("{} {:3d}%  {}", bar(fraction, std::min(room, 30)), percent, text)
                              : fmt::format("{:3d}%  {}", percent, text);
  if (static_cast<int>(row.size()) >= width) row.resize(std::max(width - 1, 0));
  return row;
}

constexpr std::string_view kEraseRow = "\r\033[K";

}  // namespace

bool can_redraw(int file) {
  const char* term = std::getenv("TERM");
  return isatty(file) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

size_t output_columns() {
  constexpr int kColumnsOfAFile = 110;
  const char* const wanted = std::getenv("COLUMNS");
  for (const int columns : {columns_of(STDOUT_FILENO), columns_of(terminal()), wanted ? std::atoi(wanted) : 0})
    if (columns > 0) return static_cast<size_t>(columns);
  return kColumnsOfAFile;
}

ProgressOutput ProgressOutput::standard(bool quiet) {
  return {.style = quiet                    ? ProgressStyle::quiet
                   : can_redraw(terminal()) ? ProgressStyle::bar
                                            : ProgressStyle::lines,
          .write = write_stderr,
          .seconds = monotonic_seconds,
          .width = terminal_width};
}

ProgressBar::ProgressBar(std::string title, std::string unit, int64_t total, ProgressOutput out)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(total),
      out_(std::move(out)),
      begin_(out_.seconds()),
      shown_at_(begin_) {}

ProgressBar::~ProgressBar() {
  if (out_.style == ProgressStyle::quiet) return;
  if (shown_done_ != done_) show();
  if (out_.style == ProgressStyle::bar) out_.write("\n");
}

void ProgressBar::continue_from(int64_t done, double share) {
  done_ = done_earlier_ = done;
  share_ = share_earlier_ = shown_share_ = share;
}

void ProgressBar::update(int64_t done, double share, const std::string& note) {
  if (out_.style == ProgressStyle::quiet) return;
  done_ = done;
  share_ = std::clamp(share, share_, 1.0);
  note_ = note;
  const double waited = out_.seconds() - shown_at_;
  if (out_.style == ProgressStyle::bar) {
    if (shown_done_ < 0 || waited >= kRedrawSeconds) show();
    return;
  }
  const bool next_tenth = std::floor(this->share() * kLinesInAll) > std::floor(shown_share_ * kLinesInAll);
  if ((next_tenth && waited >= 1) || waited >= kLineSeconds) show();
}

double ProgressBar::share() const {
  return total_ > 0 ? static_cast<double>(done_) / static_cast<double>(total_) : share_;
}

std::string ProgressBar::line(int width) const {
  const double seconds = std::max(out_.seconds() - begin_, 1e-9), share = this->share();
  std::string text = fmt::format("{} {}{} {}", title_, done_, total_ > 0 ? fmt::format("/{}", total_) : "", unit_);
  if (seconds >= 0.5) text += fmt::format("  {}/s", format_count(static_cast<double>(done_ - done_earlier_) / seconds));
  if (!note_.empty()) text += "  " + note_;
  if (share < 1 && share > share_earlier_ && seconds >= 0.5)
    text += fmt::format("  {} left", format_duration((1 - share) / (share - share_earlier_) * seconds));
  else if (share >= 1)
    text += fmt::format("  in {}", seconds < 10 ? fmt::format("{:.1f}s", seconds) : format_duration(seconds));
  if (width > 0 && share > 0) return bar_row(share, text, width);
  if (width > 0 && static_cast<int>(text.size()) >= width) text.resize(std::max(width - 1, 0));
  return text;
}

void ProgressBar::show() {
  if (out_.style == ProgressStyle::bar)
    out_.write(std::string(kEraseRow) + line(out_.width()));
  else
    out_.write(line(0) + "\n");
  shown_done_ = done_;
  shown_share_ = share();
  shown_at_ = out_.seconds();
}

StatusRow::StatusRow(ProgressOutput out) : out_(std::move(out)) {}

StatusRow::~StatusRow() {
  if (!row_.empty()) out_.write("\n");
}

void StatusRow::show(double fraction, bool line_is_due, const std::function<std::string(size_t)>& text) {
  if (out_.style == ProgressStyle::lines) {
    if (line_is_due) out_.write(text(std::string::npos) + "\n");
  } else if (out_.style == ProgressStyle::bar && (row_.empty() || out_.seconds() - shown_at_ >= kRedrawSeconds)) {
    const int width = out_.width();
    row_ = bar_row(fraction, text(static_cast<size_t>(std::max(0, width - kPercentColumns))), width);
    shown_at_ = out_.seconds();
    out_.write(std::string(kEraseRow) + row_);
  }
}

void StatusRow::message(std::string_view text) {
  if (out_.style == ProgressStyle::quiet) return;
  if (row_.empty())
    out_.write(fmt::format("{}\n", text));
  else
    out_.write(fmt::format("{}{}\n{}", kEraseRow, text, row_));
}

}  // namespace weft
