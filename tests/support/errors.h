// tests/support/errors.h: catches the Errors of code under test and checks their messages.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tensor/error.h"

namespace weft::testing {

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The Error that `action` throws; the test fails if it throws none.
template <typename Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(ErrorKind::internal, "no Error was thrown");
}

// Its message; also checks its kind.
template <typename Action>
std::string message_of(ErrorKind kind, Action&& action) {
  const Error error = error_of(action);
  EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
  return error.what();
}

// The same, but "" if `action` throws no Error.
template <typename Action>
std::string refusal_of(ErrorKind kind, Action&& action) {
  return message_of(kind, [&] {
    action();
    fail(kind, "");
  });
}

// Expects `action` to throw an Error of this kind, in one line with all `parts`.
template <typename Action>
void expect_error(Action&& action, ErrorKind kind, const std::vector<std::string>& parts) {
  const std::string message = message_of(kind, action);
  for (const std::string& part : parts)
    EXPECT_TRUE(holds(message, part)) << "'" << part << "' is missing in: " << message;
  EXPECT_FALSE(holds(message, "\n")) << "more than one line: " << message;
}

}  // namespace weft::testing
