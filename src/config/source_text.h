#pragma once

// The text of a config: checked (UTF-8, control characters, tabs) and with uniform line ends. Maps offsets to columns.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/node.h"

namespace dptrain::config {

/// The line of a YAML file at `location` with a caret below the word; "" for other or unreadable files.
std::string excerpt_of(const SourceLocation& location);

/// Number of code points in UTF-8 text, the unit of columns in messages.
int columns_of(std::string_view utf8) noexcept;

class SourceText {
 public:
  /// Reports errors and then returns nothing.
  static std::optional<SourceText> check(const std::string& raw, const std::string& name, const std::string& directory,
                                         Diagnostics& diagnostics);
  /// Text whose marks refer to another source (the padded value of `--set`).
  SourceText(std::string text, std::shared_ptr<const Source> source);

  const std::string& text() const noexcept { return text_; }
  /// The mark of `bytes` bytes from `offset`, cut at the end of the line.
  Mark mark(std::size_t offset, std::size_t bytes) const;

 private:
  int columns_between(std::size_t begin, std::size_t end) const;

  std::string text_;
  std::shared_ptr<const Source> source_;
  std::vector<std::size_t> line_begins_;
  std::vector<std::size_t> inner_bytes_;  ///< continuation bytes before each kStride-th byte, for columns
};

/// The tree of one YAML document; null after a syntax error. Any thread.
Node parse_yaml(const SourceText& source, Diagnostics& diagnostics);

}  // namespace dptrain::config
