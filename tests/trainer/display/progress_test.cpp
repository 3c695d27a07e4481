// tests/trainer/display/progress_test.cpp: progress output with a simulated clock.
#include "trainer/display/progress.h"
#include "trainer/display/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace weft {
namespace {

struct FakeTerminal {
  std::string text;
  double now = 100;
  ProgressOutput output(ProgressStyle style, int width = 80) {
    return {.style = style,
            .write = [this](std::string_view t) { text += t; },
            .seconds = [this] { return now; },
            .width = [width] { return width; }};
  }
  long lines() const { return std::count(text.begin(), text.end(), '\n'); }
};

TEST(ProgressBar, WritesAboutTenLinesOnAPipe) {
  FakeTerminal t;
  {
    ProgressBar bar("packing", "lines", 1000, t.output(ProgressStyle::lines));
    for (int i = 1; i <= 1000; ++i) {
      t.now += 0.05;
      bar.update(i);
    }
  }
  EXPECT_EQ(t.lines(), 10);
  EXPECT_NE(t.text.find("packing 500/1000 lines  20/s  25s left\n"), std::string::npos) << t.text;
  EXPECT_NE(t.text.find("packing 1000/1000 lines  20/s  in 50s\n"), std::string::npos) << t.text;
  EXPECT_EQ(t.text.find('\033'), std::string::npos);
}

TEST(ProgressBar, WritesOneLineForQuickWorkOnAPipe) {
  FakeTerminal t;
  {
    ProgressBar bar("reading", "lines", 10, t.output(ProgressStyle::lines));
    for (int i = 1; i <= 10; ++i) bar.update(i);
  }
  EXPECT_EQ(t.lines(), 1);
}

TEST(ProgressBar, WritesALineEveryTenSecondsWhenTheTotalIsUnknown) {
  FakeTerminal t;
  {
    ProgressBar bar("pairs", "lines", 0, t.output(ProgressStyle::lines));
    for (int i = 1; i <= 35; ++i) {
      t.now += 1;
      bar.update(i);
    }
  }
  EXPECT_EQ(t.lines(), 4);  // after 10, 20, 30 s and at the end
}

TEST(ProgressBar, RedrawsOneRowWithinTheTerminal) {
  FakeTerminal t;
  {
    ProgressBar bar("translating", "lines of a text whose name does not fit beside a bar", 50,
                    t.output(ProgressStyle::bar, 60));
    for (int i = 1; i <= 50; ++i) {
      t.now += 0.5;
      bar.update(i);
    }
  }
  EXPECT_EQ(t.lines(), 1);
  size_t begin = 0;
  for (size_t end = t.text.find('\r', 1); end != std::string::npos; end = t.text.find('\r', begin + 1)) {
    EXPECT_LT(end - begin, 60 + std::string("\r\033[K").size());
    begin = end;
  }
}

TEST(ProgressBar, RedrawsAtMostTenTimesASecond) {
  FakeTerminal t;
  {
    ProgressBar bar("packing", "lines", 1000, t.output(ProgressStyle::bar));
    for (int i = 1; i <= 1000; ++i) {
      t.now += 0.001;
      bar.update(i);
    }
  }
  EXPECT_LE(std::count(t.text.begin(), t.text.end(), '\r'), 12);
  EXPECT_NE(t.text.find("packing 1000/1000"), std::string::npos);
}

TEST(ProgressBar, IsSilentWhenQuiet) {
  FakeTerminal t;
  { ProgressBar("packing", "lines", 10, t.output(ProgressStyle::quiet)).update(10); }
  EXPECT_EQ(t.text, "");
}

TEST(StatusRow, GivesTheTextWhatABarLeavesFree) {
  FakeTerminal t;
  StatusRow(t.output(ProgressStyle::bar, 40)).show(0.5, false, [](size_t width) {
    return std::string(width - 7, 'x');
  });
  EXPECT_EQ(t.text, "\r\033[K 50%  " + std::string(26, 'x') + "\n");
}

TEST(StatusRow, WritesTheLinesThatAreDueOnAPipe) {
  FakeTerminal t;
  StatusRow row(t.output(ProgressStyle::lines));
  for (int step = 1; step <= 20; ++step) row.show(step / 20.0, step % 10 == 0, [](size_t) { return "a step"; });
  EXPECT_EQ(t.text, "a step\na step\n");
}

TEST(StatusRow, LetsMessagesStandAboveTheBar) {
  FakeTerminal t;
  {
    StatusRow row(t.output(ProgressStyle::bar, 200));
    row.show(0.5, false, [](size_t) { return "step 1000/2000"; });
    row.message("valid bleu 30.1");
  }
  const size_t message = t.text.find("\r\033[Kvalid bleu 30.1\n");
  ASSERT_NE(message, std::string::npos);
  EXPECT_NE(t.text.find(" 50%  step 1000/2000", message), std::string::npos) << "the bar is drawn again below";
  EXPECT_EQ(t.text.back(), '\n');
}

TEST(Format, DurationsAndCounts) {
  EXPECT_EQ(format_duration(42), "42s");
  EXPECT_EQ(format_duration(185), "3m 05s");
  EXPECT_EQ(format_duration(7800), "2h 10m");
  EXPECT_EQ(format_duration(100800), "1d 04h");
  EXPECT_EQ(format_count(512), "512");
  EXPECT_EQ(format_count(15300), "15.3k");
  EXPECT_EQ(format_count(2.4e6), "2.40M");
}

}  // namespace
}  // namespace weft
