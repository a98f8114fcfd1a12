#pragma once

// Collects everything that is wrong with a config, so that one run shows all of it. One per load; not thread-safe.

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
  /// Adds an error; the reference is good until the next one is added.
  Diagnostic& error(const Mark& mark, std::string message);
  void warn(const Mark& mark, std::string message);

  bool ok() const noexcept { return errors_.empty(); }
  const std::vector<Diagnostic>& errors() const noexcept { return errors_; }
  const std::vector<Diagnostic>& warnings() const noexcept { return warnings_; }

  /// All errors, sorted by file, line and column, each once, as
  ///   file:line:column: error: message
  ///      18 |     - vgg: {name: block1, filter: 64}
  ///         |                           ^~~~~~
  ///     note: ... at file:line:column
  /// and last "2 errors; nothing was run (exit 2)".
  std::string render(ErrorKind kind = ErrorKind::kUsage) const;
  /// All warnings, in the same form.
  std::string render_warnings() const;
  /// The errors as JSON lines {"level","file","line","column","message"} (`--log json`); notes follow with level
  /// "note".
  std::string render_json() const;
  /// Throws ConfigError of this kind when there is an error.
  void throw_if_errors(ErrorKind kind = ErrorKind::kUsage) const;

 private:
  std::vector<Diagnostic> errors_, warnings_;
};

/// Everything that is wrong with a config, or (of another kind than kUsage) with what it names: what() is render(), a
/// complete text with places; json() is render_json().
class ConfigError : public Error {
 public:
  explicit ConfigError(const Diagnostics& diagnostics, ErrorKind kind = ErrorKind::kUsage)
      : Error(kind, diagnostics.render(kind), Complete{}), json_(diagnostics.render_json()) {}

  const std::string& json() const noexcept { return json_; }

 private:
  std::string json_;
};

/// An error with the location of `mark`, if the mark is known.
inline Error error_at(ErrorKind kind, const Mark& mark, const std::string& message) {
  if (!mark.known()) return {kind, message};
  return {kind, message, {.file = mark.source->name, .line = mark.line, .column = mark.column}};
}

}  // namespace dptrain::config
