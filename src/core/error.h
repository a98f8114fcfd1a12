#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace dptrain {

/// Kind of failure, also the exit code of the process (documented in docs/reference/command-line.md).
enum class ErrorKind {
  kInternal = 1,    ///< a bug in dptrain
  kUsage = 2,       ///< command line or config
  kData = 3,        ///< data missing, damaged, of the wrong shape
  kDevice = 4,      ///< no such device, driver or collective error
  kMemory = 5,      ///< out of memory
  kDiverged = 6,    ///< NaN or Inf in the loss
  kCheck = 7,       ///< --assert, gates, verify, bench --baseline, devices --check, ckpt diff
  kCheckpoint = 8,  ///< checkpoint unreadable or of another model
  kDeadline = 9,    ///< watchdog
  kWrite = 10,      ///< cannot write
};

/// Location in a file. Lines and columns count from 1; line 0: unknown.
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  bool is_known() const noexcept { return line > 0; }
  std::string text() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column); }
};

/// The exception type of all errors that a user sees; asserts check for bugs. The message states the location, what was
/// found, what was expected and what to try. Copyable across threads (std::exception_ptr).
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  /// If the location is known, what() returns "file:line:column: error: message".
  Error(ErrorKind kind, const std::string& message, SourceLocation location)
      : std::runtime_error(location.is_known() ? location.text() + ": error: " + message : message),
        kind_(kind),
        location_(std::move(location)),
        message_(message),
        is_complete_(location_.is_known()) {}

  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

  /// Whether what() has its location and is printed without another "error: ".
  bool is_complete() const noexcept { return is_complete_; }
  const SourceLocation& location() const noexcept { return location_; }
  std::string message() const { return location_.is_known() ? message_ : what(); }

  /// Returns the error with "where: " before its message, for example "replica 1 (cpu:1), step 412, layer conv2".
  Error within(const std::string& where) const {
    Error outer(kind_, where + ": " + message(), location_);
    outer.is_complete_ = is_complete_;
    return outer;
  }

 protected:
  /// Tag for a text that contains its locations.
  struct Complete {};
  Error(ErrorKind kind, const std::string& text, Complete /*tag*/)
      : std::runtime_error(text), kind_(kind), is_complete_(true) {}

 private:
  ErrorKind kind_;
  SourceLocation location_;
  std::string message_;  ///< set if the location is known
  bool is_complete_ = false;
};

/// Converts any exception to an Error.
Error as_error(const std::exception_ptr& failure);

}  // namespace dptrain
