// tests/trainer/train_state_test.cpp: state.json reads back as written, and every field is required.
#include "trainer/train_state.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/errors.h"

namespace weft {
namespace {

TrainState some_state() {
  TrainState s{.step = 12, .optimizer_steps = 11, .seconds = 0.1};
  s.cursor = {.num_streams = 2,
              .next_stream = 1,
              .streams = {{0, {.corpora = {{.epoch = 3, .position = 40, .pending = {7, 5}}}}},
                          {1, {.corpora = {{.epoch = 4}}}}}};
  s.best = {.metric = "bleu", .value = 1.0 / 3, .step = 10, .stale = 1, .kept = {{10, 1.0 / 3}, {12, 0.25}}};
  s.divergence = {.recent = {5.5, 0.1}, .lowest = 0.1, .good_until = 3, .not_finite = 2, .rollbacks = 1};
  s.scores_due = {{.step = 8, .numbers = {{"bleu", 1.0 / 3}, {"news.loss", 2}}}, {.step = 10, .numbers = {}}};
  return s;
}

TEST(TrainState, ReadsBackAsItWasWritten) {
  const nlohmann::json written = some_state().to_json();
  EXPECT_EQ(TrainState::from_json(nlohmann::json::parse(written.dump()), "step-00000012").to_json(), written);
  EXPECT_EQ(TrainState::from_json(written, "step-00000012").cursor, some_state().cursor);
}

TEST(TrainState, IsSentWholeExceptForTheStreamsOfOthers) {
  TrainState state = some_state();
  state.cursor.num_streams = 4;
  for (int64_t i = 0; i < 4; ++i) state.cursor.streams[i].corpora = {{.epoch = 3, .position = 10 * i, .pending = {i}}};
  for (int rank = 0; rank < 4; ++rank) {
    TrainState sent = state_from_text(state_to_text(state), /*num_blocks=*/4, rank, /*dp_size=*/4);
    const int64_t stream = (state.cursor.next_stream + rank) % 4;
    EXPECT_EQ(sent.cursor.streams, (std::map<int64_t, StreamCursor>{{stream, state.cursor.streams[stream]}}));
    EXPECT_EQ(sent.cursor.num_streams, 4);
    sent.cursor.streams = state.cursor.streams;
    EXPECT_EQ(sent.to_json(), state.to_json());
  }
  EXPECT_EQ(state_from_text(state_to_text(state), 4, 0, 1).to_json(), state.to_json());
}

TEST(TrainState, InsistsOnEveryField) {
  const nlohmann::json flat = some_state().to_json().flatten();
  for (const auto& [pointer, value] : flat.items()) {
    if (pointer.find("/pending/") != std::string::npos || pointer.find("/recent/") != std::string::npos)
      continue;  // entries of a list, not fields
    nlohmann::json damaged = flat;
    damaged.erase(pointer);
    EXPECT_THROW(TrainState::from_json(damaged.unflatten(), "step-00000012"), Error) << pointer;
  }
}

TEST(TrainState, HasThePlaceInEveryCorpusOfAMix) {
  const Cursor one{.epoch = 3, .position = 40, .pending = {7, 5}, .epochs = {2, 3}}, two{.position = 9};
  TrainState state = some_state();
  state.cursor.streams[0] = {.corpora = {one, two}, .turns = {5, -5}, .begins = {-1, 1}};
  const nlohmann::json written = state.to_json();
  EXPECT_EQ(TrainState::from_json(written, "step-00000012").cursor, state.cursor);
  EXPECT_EQ(written["cursor"]["streams"][1], some_state().to_json()["cursor"]["streams"][1]);
  nlohmann::json damaged = written;
  damaged["cursor"]["streams"][0]["turns"][0] = 0.5;
  EXPECT_THROW(TrainState::from_json(damaged, "step-00000012"), Error);
}

TEST(TrainState, SaysWhichFilesFieldIsWrong) {
  nlohmann::json damaged = some_state().to_json();
  damaged["step"] = "twelve";
  const std::string message =
      testing::message_of(ErrorKind::checkpoint, [&] { TrainState::from_json(damaged, "run/step-00000012"); });
  EXPECT_TRUE(message.starts_with("run/step-00000012/state.json: ")) << message;
}

TEST(TrainState, TakesOnlyWholeNumbersForIntegers) {
  const auto message = [](const char* path, const nlohmann::json& value) {
    nlohmann::json damaged = some_state().to_json();
    damaged[nlohmann::json::json_pointer(path)] = value;
    return testing::message_of(ErrorKind::checkpoint, [&] { TrainState::from_json(damaged, "run/step-00000012"); });
  };
  EXPECT_EQ(message("/step", 12.5), "run/step-00000012/state.json: step is 12.5, not a whole number");
  EXPECT_EQ(message("/cursor/streams/0/pending", {1e74}),
            "run/step-00000012/state.json: pending is 1e+74, not a whole number");
}

}  // namespace
}  // namespace weft
