// Part of Epifold, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Errors as values: a code for programs, one paragraph of text for people.

#ifndef EPIFOLD_RUNTIME_ERROR_H
#define EPIFOLD_RUNTIME_ERROR_H

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace epifold {

/// What kind of failure an Error reports; decides what a caller can do next.
enum class ErrorCode {
  InvalidArgument, ///< The caller passed something that does not fit.
  NotFound,        ///< A tensor, file, symbol or target is absent.
  Io,              ///< The operating system refused a file operation.
  Corrupt,         ///< A file's content is not what its format demands.
  Unsupported,     ///< Well formed, but beyond this build, chip or driver.
  OutOfMemory,     ///< Host or device memory ran out.
  NoDevice,        ///< No driver, or no such device.
  Driver,          ///< The CUDA driver returned an error.
  Compile,         ///< The compiler library rejected the graph.
};

/// A failure: its code and a message that says what was seen, what was
/// expected and what to do. The message has no trailing newline.
class [[nodiscard]] Error {
public:
  Error(ErrorCode code, std::string message)
      : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string &message() const { return message_; }

  /// The same error with `context` and ": " put before the message.
  Error withContext(const std::string &context) const {
    return Error(code_, context + ": " + message_);
  }

private:
  ErrorCode code_;
  std::string message_;
};

/// Either a T or the Error that kept it from existing. Test it, then
/// dereference it; dereferencing a failure is a programming error.
template <typename T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }

  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }

  const Error &error() const {
    assert(state_.index() == 1 && "error() of a success");
    return *std::get_if<1>(&state_);
  }

private:
  T &value() {
    assert(state_.index() == 0 && "value of a failure");
    return *std::get_if<0>(&state_);
  }
  const T &value() const {
    assert(state_.index() == 0 && "value of a failure");
    return *std::get_if<0>(&state_);
  }

  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Expected<void> {
public:
  Expected() : state_(std::in_place_index<0>) {}
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }

  const Error &error() const {
    assert(state_.index() == 1 && "error() of a success");
    return *std::get_if<1>(&state_);
  }

private:
  std::variant<std::monostate, Error> state_;
};

} // namespace epifold

#endif // EPIFOLD_RUNTIME_ERROR_H
