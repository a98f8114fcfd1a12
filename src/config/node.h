#pragma once

// The tree of a YAML file: scalars as text with their source marks. The schema, not YAML, determines types. Aliases are
// expanded and `<<` is merged. A Node is a plain value; copies are deep.
//
// A scalar from a file may contain variables (`$NAME`, and `$$` for a dollar) until Reader::substituted replaces them.
// A node made in the program is literal: its dollars are dollars. to_yaml doubles them, so that the text reads back.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/typed.h"

namespace dptrain::config {

class Node {
 public:
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;

  // Defaulted in node.cpp, where Entry is complete.
  Node() noexcept;
  Node(const Node&);
  Node(Node&&) noexcept;
  Node& operator=(const Node&);
  Node& operator=(Node&&) noexcept;
  ~Node();

  static Node scalar(std::string text, Mark mark = {});  ///< plain: may be read as a number or a boolean
  static Node text(std::string text, Mark mark = {});    ///< quoted: always a string
  static Node number(double value);
  static Node integer(std::int64_t value);
  static Node boolean(bool value);
  static Node sequence(std::vector<Node> items = {}, Mark mark = {});
  static Node map(Mark mark = {});

  Kind kind() const noexcept { return kind_; }
  bool is_null() const noexcept { return kind_ == Kind::kNull; }
  bool is_scalar() const noexcept { return kind_ == Kind::kScalar; }
  bool is_sequence() const noexcept { return kind_ == Kind::kSequence; }
  bool is_map() const noexcept { return kind_ == Kind::kMap; }
  /// The value in error messages: "3", "'many'", "the text '3'", "a list", "a mapping", "nothing".
  std::string describe() const;

  const Mark& mark() const noexcept { return mark_; }
  void set_mark(Mark mark) { mark_ = std::move(mark); }

  const std::string& str() const noexcept { return text_; }  ///< scalars
  bool quoted() const noexcept { return quoted_; }
  bool literal() const noexcept { return literal_; }  ///< `$` is a dollar, not the start of a variable
  void set_literal(bool literal) noexcept { literal_ = literal; }
  /// Whether a variable from outside the file begins the text: as a path it is relative to the current directory.
  bool from_outside() const noexcept { return from_outside_; }
  void set_from_outside(bool outside) noexcept { from_outside_ = outside; }

  const std::vector<Node>& items() const noexcept { return items_; }  ///< sequences
  std::vector<Node>& items() noexcept { return items_; }

  const std::vector<Entry>& entries() const noexcept { return entries_; }  ///< maps, in the order of the file
  std::vector<Entry>& entries() noexcept { return entries_; }
  const Node* find(std::string_view key) const noexcept;  ///< null when absent
  Node* find(std::string_view key) noexcept;
  Node& set(std::string key, Node value);  ///< replaces or appends; returns the stored value
  void erase(std::string_view key);

 private:
  Kind kind_ = Kind::kNull;
  Mark mark_;
  std::string text_;
  bool quoted_ = false, literal_ = true, from_outside_ = false;
  std::vector<Node> items_;
  std::vector<Entry> entries_;
};

struct Node::Entry {
  std::string key;
  Mark mark;  ///< mark of the key
  Node value;
};

/// Equal except for marks. Quotes count only where they change the meaning ("1" and 1, but not "relu" and relu).
bool same(const Node& a, const Node& b);
/// Nesting depth of lists and mappings; 0 for a scalar.
int depth(const Node& node) noexcept;

/// YAML that reads back as the same tree (strings are quoted where YAML or the reader would read another type).
std::string to_yaml(const Node& node);
/// JSON, indented by one space. Plain numbers and booleans are written as such (`1/255` stays text).
std::string to_json(const Node& node);

}  // namespace dptrain::config
