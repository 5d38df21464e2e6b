// What an operation returns when it can fail for a reason the user can do something about.
//
// Three kinds of trouble, three ways to say it:
//   a bad line in the input     -> a reject row, and reading goes on
//   a failed operation          -> Result<T>, carried up to the command
//   a broken promise of our own -> assert, never reachable from input
// Names follow std::expected, so that C++23 can make this an alias.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace culprit {

// A place in a file of the user's, never in one of ours. line is 1-based; 0 means "the file as a
// whole".
struct Where {
  std::string file;
  std::uint64_t line = 0;
};

// Decides the exit status of the command (cli/exit.hpp).
enum class ErrorKind { usage, input, internal };

struct Error {
  std::string what;
  std::optional<Where> where;
  std::string help;
  ErrorKind kind = ErrorKind::input;

  Error&& at(Where place) && {
    where = std::move(place);
    return std::move(*this);
  }
  Error&& hint(std::string text) && {
    help = std::move(text);
    return std::move(*this);
  }
};

inline Error fail(std::string what) { return Error{std::move(what), {}, {}, ErrorKind::input}; }
inline Error usage_error(std::string what) {
  return Error{std::move(what), {}, {}, ErrorKind::usage};
}
inline Error internal_error(std::string what) {
  return Error{std::move(what), {}, {}, ErrorKind::internal};
}

struct Done {};

template <class T = Done>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}
  Result() requires std::is_same_v<T, Done> : state_(Done{}) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool has_value() const { return state_.index() == 0; }
  T& value() & {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(has_value());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(has_value());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  Error& error() {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }
  const Error& error() const {
    assert(!has_value());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

}  // namespace culprit

// CULPRIT_TRY(rows, db.load());   declares rows, or returns the error to the caller.
#define CULPRIT_TRY_JOIN2(a, b) a##b
#define CULPRIT_TRY_JOIN(a, b) CULPRIT_TRY_JOIN2(a, b)
#define CULPRIT_TRY_IMPL(temp, name, expression) \
  auto temp = (expression);                      \
  if (!temp) return std::move(temp).error();     \
  auto name = std::move(temp).value()
#define CULPRIT_TRY(name, expression) \
  CULPRIT_TRY_IMPL(CULPRIT_TRY_JOIN(result_of_line_, __LINE__), name, expression)
#define CULPRIT_CHECK(expression)                                                 \
  do {                                                                            \
    if (auto checked = (expression); !checked) return std::move(checked).error(); \
  } while (false)
