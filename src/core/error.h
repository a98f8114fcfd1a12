#pragma once

#include <stdexcept>
#include <string>

namespace dptrain {

/// What went wrong, and at the same time the exit code of the process (documented in docs/exit-codes.md).
enum class ErrorKind {
  kInternal = 1,    ///< our own fault
  kUsage = 2,       ///< command line or config
  kData = 3,        ///< data missing, damaged, of the wrong shape
  kDevice = 4,      ///< no such device, driver or collective error
  kMemory = 5,      ///< out of memory
  kDiverged = 6,    ///< NaN or Inf in the loss
  kCheck = 7,       ///< --assert, verify, bench --baseline
  kCheckpoint = 8,  ///< checkpoint unreadable or of another model
  kDeadline = 9,    ///< watchdog
  kWrite = 10,      ///< cannot write
};

/// The one exception of dptrain. The message says where, what was found, what was expected, what to try.
/// Asserts are for our own bugs, this is for the world's faults. Copyable across threads (std::exception_ptr).
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

  /// The same error with "where: " before its message, for example "replica 1 (cpu:1), step 412, layer conv2".
  Error within(const std::string& where) const { return {kind_, where + ": " + what()}; }

 private:
  ErrorKind kind_;
};

}  // namespace dptrain
