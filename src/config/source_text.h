#pragma once

// The text of a config before it is parsed: checked (UTF-8, no control characters, no tabs in the indentation), line
// ends made equal, and able to say which line and column a byte stands in.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/node.h"

namespace dptrain::config {

/// The line of a YAML file at `location` and a caret below its word, as in the errors of a config; "" for other files
/// and where the file cannot be read.
std::string excerpt_of(const SourceLocation& location);

/// Code points in UTF-8 text: the columns that messages count.
int columns_of(std::string_view utf8) noexcept;

class SourceText {
 public:
  /// Nothing after reporting.
  static std::optional<SourceText> check(const std::string& raw, const std::string& name, const std::string& directory,
                                         Diagnostics& diagnostics);
  /// Text that stands in for a source whose lines are shown otherwise (the padded value of `--set`).
  SourceText(std::string text, std::shared_ptr<const Source> source);

  const std::string& text() const noexcept { return text_; }
  /// The mark of `bytes` bytes from `offset` on, cut at the end of the line.
  Mark mark(std::size_t offset, std::size_t bytes) const;

 private:
  int columns_between(std::size_t begin, std::size_t end) const;

  std::string text_;
  std::shared_ptr<const Source> source_;
  std::vector<std::size_t> line_begins_;
  std::vector<std::size_t> inner_bytes_;  ///< of characters' later bytes, before every kStride-th byte: for columns
};

/// The tree of one YAML document, null after a syntax error (yaml_parser.cpp). Any thread.
Node parse_yaml(const SourceText& source, Diagnostics& diagnostics);

}  // namespace dptrain::config
