// tests/trainer/report/progress_test.cpp: progress output with a simulated clock.
#include "trainer/report/progress.h"
#include "trainer/report/units.h"

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
    ProgressBar bar("packing", 1000, t.output(ProgressStyle::lines));
    for (int i = 1; i <= 1000; ++i) {
      t.now += 0.05;
      bar.update(i);
    }
  }
  EXPECT_EQ(t.lines(), 10);
  EXPECT_NE(t.text.find("packing 500/1000  20/s  25s left\n"), std::string::npos) << t.text;
  EXPECT_NE(t.text.find("packing 1000/1000  20/s  in 50s\n"), std::string::npos) << t.text;
  EXPECT_EQ(t.text.find('\033'), std::string::npos);
}

TEST(ProgressBar, WritesOneLineForQuickWorkOnAPipe) {
  FakeTerminal t;
  {
    ProgressBar bar("reading", 10, t.output(ProgressStyle::lines));
    for (int i = 1; i <= 10; ++i) bar.update(i);
  }
  EXPECT_EQ(t.lines(), 1);
}

TEST(ProgressBar, WritesALineEveryTenSecondsWhenTheTotalIsUnknown) {
  FakeTerminal t;
  {
    ProgressBar bar("pairs", 0, t.output(ProgressStyle::lines));
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
    ProgressBar bar("translating", 50, t.output(ProgressStyle::bar, 60));
    for (int i = 1; i <= 50; ++i) {
      t.now += 0.5;
      bar.update(i, "a long remark that does not fit beside a bar");
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
    ProgressBar bar("packing", 1000, t.output(ProgressStyle::bar));
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
  { ProgressBar("packing", 10, t.output(ProgressStyle::quiet)).update(10); }
  EXPECT_EQ(t.text, "");
}

TrainStatus example_status(int64_t step) {
  return {.step = step,
          .total_steps = 2000,
          .fraction = step / 2000.0,
          .loss = 4.25,
          .nll = 2,
          .lr = 7e-4,
          .grad_norm = 0.5,
          .source_tokens_per_second = 12345,
          .target_tokens_per_second = 2.5e6,
          .fill = 0.9951,
          .eta_seconds = 125};
}

TEST(TrainProgress, SaysAllOfAStepInOneLine) {
  EXPECT_EQ(train_line(example_status(20)),
            "step 20/2000  loss 4.2500  nll 2.0000  ppl 7.39  lr 7.00e-04  grad 0.500  src 12.3k/s  tgt 2.50M/s  "
            "fill 99.5%  2m 05s left");
}

TEST(TrainLine, HasTheSharesOfKnownLimits) {
  TrainStatus status = example_status(20);
  status.mfu = 0.4126;
  EXPECT_TRUE(train_line(status).ends_with("  fill 99.5%  mfu 41.3%  2m 05s left")) << train_line(status);
  status.roofline = 0.5;
  EXPECT_TRUE(train_line(status).ends_with("  mfu 41.3%  roofline 50.0%  2m 05s left")) << train_line(status);
}

TEST(TrainLine, LeavesOutWhatMattersLeastOnANarrowTerminal) {
  TrainStatus status = example_status(20);
  status.mfu = 0.4126, status.roofline = 0.5;
  EXPECT_EQ(train_line(status, 114),
            "step 20/2000  loss 4.2500  nll 2.0000  grad 0.500  tgt 2.50M/s  fill 99.5%  mfu 41.3%  roofline 50.0%  "
            "2m 05s left");
  EXPECT_EQ(train_line(status, 73), "step 20/2000  loss 4.2500  mfu 41.3%  roofline 50.0%  2m 05s left");
  EXPECT_EQ(train_line(status, 0), "step 20/2000  loss 4.2500  2m 05s left");
}

TEST(TrainProgress, ShowsTheTimeThatIsLeftOnANarrowTerminal) {
  FakeTerminal t;
  TrainProgress(10, t.output(ProgressStyle::bar, 80)).step(example_status(1000));
  EXPECT_EQ(t.text, "\r\033[K[###..]  50%  step 1000/2000  loss 4.2500  tgt 2.50M/s  fill 99.5%  2m 05s left\n");
}

TEST(TrainProgress, WritesEveryNthStepAndTheLastOnAPipe) {
  FakeTerminal t;
  {
    TrainProgress progress(500, t.output(ProgressStyle::lines));
    for (int64_t step = 1; step <= 1999; ++step) progress.step(example_status(step));
    EXPECT_EQ(t.lines(), 3);
    progress.step(example_status(2000));
  }
  EXPECT_EQ(t.lines(), 4);
}

TEST(TrainProgress, LetsMessagesStandAboveTheBar) {
  FakeTerminal t;
  {
    TrainProgress progress(10, t.output(ProgressStyle::bar, 200));
    progress.step(example_status(1000));
    progress.message("valid bleu 30.1");
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
