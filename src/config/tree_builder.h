#pragma once

// Builds the tree from a parser's events: duplicate keys, `<<`, bounded aliases. One per document; not thread-safe.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostics.h"
#include "config/node.h"

namespace dptrain::config {

class TreeBuilder {
 public:
  /// Number that the parser gives an anchor; 0 for none.
  using Anchor = std::size_t;
  /// Thrown after reporting a tree that is too deep or too large.
  struct Stop {};

  static constexpr int kMaxDepth = 200;                ///< depth of lists and mappings, including aliases
  static constexpr std::size_t kMaxNodes = 1'000'000;  ///< after the expansion of aliases

  explicit TreeBuilder(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void scalar(std::string text, bool quoted, const Mark& mark, Anchor anchor);
  /// `written` is false if nothing follows a key or a dash.
  void null(bool written, const Mark& mark, Anchor anchor);
  void alias(Anchor anchor, const Mark& mark);
  void begin_sequence(const Mark& mark, Anchor anchor) { begin(Node::sequence({}, mark), anchor, false); }
  /// `flow`: written in braces, where YAML splits `(28, 28, 1)` at its commas.
  void begin_map(const Mark& mark, Anchor anchor, bool flow) { begin(Node::map(mark), anchor, flow); }
  void end();

  Node take() { return std::move(root_); }

 private:
  struct Key {
    std::string text;
    Mark mark;
    bool quoted = false;
    bool good = true;  ///< false: reported, and the value is dropped
  };
  struct Open {
    Node node;
    Anchor anchor = 0;
    bool flow = false;            ///< a map in braces
    bool in_call = false;         ///< the last value has an unclosed '('
    std::optional<Key> key = {};  ///< in a map: the key of the next value
    std::map<std::string, Mark> seen = {};
    std::vector<Node> merged = {};  ///< the mappings that `<<` named, in order
  };
  struct Anchored {
    Node node;
    std::size_t nodes = 0;
    int depth = 0;
  };

  void begin(Node node, Anchor anchor, bool flow);
  void join_calls(Node& map);  ///< joins `(28, 28, 1)` and `f(x=1, y=2)`, which are several entries of a map in braces
  /// Reports duplicates among keys without values from `begin` on, which add_seen() has skipped.
  void report_duplicates(const std::vector<Node::Entry>& entries, std::size_t begin);
  Node as_list(Node tuple, const Mark& last);  ///< reports a tuple and returns its list; returns other calls unchanged
  bool add_seen(Open& map, const std::string& key, const Mark& mark);
  void add(Node node, Anchor anchor);
  void add_key(Open& map, const Node& node);
  void add_value(Open& map, Node node);
  void add_merge(Open& map, const Node& node, const Mark& at);
  void count(std::size_t nodes, const Mark& at);
  [[noreturn]] void stop(const Mark& at, const std::string& message);

  Diagnostics& diagnostics_;
  std::vector<Open> stack_;
  std::map<Anchor, Anchored> anchors_;
  std::size_t nodes_ = 0;
  Node root_;
};

}  // namespace dptrain::config
