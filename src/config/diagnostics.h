#pragma once

// Collects all errors of a config, so that one run reports them together. One per load; not thread-safe.

#include <string>
#include <utility>
#include <vector>

#include "config/node.h"
#include "core/error.h"

namespace dptrain::config {

struct Diagnostic {
  Mark mark;
  std::string message;
  std::vector<std::pair<Mark, std::string>> notes;
};

class Diagnostics {
 public:
  /// Adds an error. The reference is valid until the next error is added.
  Diagnostic& error(const Mark& mark, std::string message);
  void warn(const Mark& mark, std::string message);

  bool ok() const noexcept { return errors_.empty(); }
  const std::vector<Diagnostic>& errors() const noexcept { return errors_; }
  const std::vector<Diagnostic>& warnings() const noexcept { return warnings_; }

  /// All errors without duplicates, sorted by file, line and column:
  ///   file:line:column: error: message
  ///      18 |     - vgg: {name: block1, filter: 64}
  ///         |                           ^~~~~~
  ///     note: ... at file:line:column
  /// followed by "2 errors; nothing was run (exit 2)".
  std::string render(ErrorKind kind = ErrorKind::kUsage) const;
  std::string render_warnings() const;
  /// Errors, then their notes, as JSON lines {"level","file","line","column","message"}, for `--log json`.
  std::string render_json() const;
  /// Throws ConfigError of this kind if there is an error.
  void throw_if_errors(ErrorKind kind = ErrorKind::kUsage) const;

 private:
  std::vector<Diagnostic> errors_, warnings_;
};

/// The errors of a config or of files that it names. The text is render(), with locations; json() is render_json().
class ConfigError : public Error {
 public:
  explicit ConfigError(const Diagnostics& diagnostics, ErrorKind kind = ErrorKind::kUsage)
      : Error(kind, diagnostics.render(kind), Complete{}), json_(diagnostics.render_json()) {}

  const std::string& json() const noexcept { return json_; }

 private:
  std::string json_;
};

inline Error error_at(ErrorKind kind, const Mark& mark, const std::string& message) {
  if (!mark.known()) return {kind, message};
  return {kind, message, {.file = mark.source->name, .line = mark.line, .column = mark.column}};
}

}  // namespace dptrain::config
