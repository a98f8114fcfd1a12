#pragma once

// Reads scalars of the tree as typed values: substitutes `$NAME`, evaluates `1/255`, `0.1%`, `2 * $filters`, reports
// what is wrong with the place and the thing it belongs to. One per load; not thread-safe.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "config/diagnostics.h"
#include "config/node.h"

namespace dptrain::config {

class Reader {
 public:
  explicit Reader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// `--var NAME=VALUE`; after these the environment is asked, then what the file's `vars` say.
  void set_variable(const std::string& name, const std::string& value) { variables_[name] = value; }
  /// The file's `vars`: {NAME: text}. Call before anything else is read.
  void read_defaults(const Node& vars);

  /// Parameters of the block being expanded; inner blocks hide outer ones entirely. Variables in the parameters
  /// themselves are replaced first, in the scope outside. RAII.
  class Scope {
   public:
    Scope(Reader& reader, std::map<std::string, Node> parameters);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Reader& reader_;
    std::map<std::string, Node> outer_;
    bool outer_inside_;
  };
  /// Names what is being read in messages: "Conv2D 'conv1'" gives "Conv2D 'conv1': strides must be ...". RAII, nests by
  /// hiding.
  class Subject {
   public:
    Subject(Reader& reader, std::string subject);
    ~Subject();
    Subject(const Subject&) = delete;
    Subject& operator=(const Subject&) = delete;

   private:
    Reader& reader_;
    std::string outer_, outer_key_;
  };
  /// Names the key being read: "strides" gives "strides must be ...". RAII, nests by hiding; a Subject starts without
  /// one.
  class Key {
   public:
    Key(Reader& reader, std::string key);
    ~Key();
    Key(const Key&) = delete;
    Key& operator=(const Key&) = delete;

   private:
    Reader& reader_;
    std::string outer_;
  };
  const std::string& subject() const noexcept { return subject_; }
  const std::string& key() const noexcept { return key_; }

  /// The node with every `$NAME` in it replaced: a scalar that is exactly `$NAME` becomes the parameter's node, other
  /// occurrences become its text (in parentheses where they stand in arithmetic). `${NAME}` is the same where a letter
  /// follows. `$$` becomes a dollar; a `$` before anything else stays. Unknown names are reported; the mark stays that
  /// of the use. Doing it twice changes nothing. Throws ConfigError where variables that hold variables grow beyond
  /// kMaxSubstituted: going on would take all memory.
  Node substituted(const Node& node);
  static constexpr std::size_t kMaxSubstituted = std::size_t{16} << 20;  ///< bytes of a load in all; a node counts 64

  // Each reports and returns nothing when the node is something else. They substitute first.
  std::optional<double> number(const Node& node);         ///< + - * / ( ), 1e-3, 0.1%, floor(x)
  std::optional<std::int64_t> integer(const Node& node);  ///< as number, and whole
  std::optional<bool> boolean(const Node& node);          ///< true or false only
  std::optional<bool> condition(const Node& node);        ///< as boolean, or `not $a and $b == same or $c > 1`
  std::optional<std::string> text(const Node& node);      ///< any scalar as written
  /// Text as a path, absolute and normalised. Relative ones are joined to the directory of the file they stand in;
  /// where the text begins with a variable from outside the file, they are relative to the current folder, as its giver
  /// meant.
  std::optional<std::string> path(const Node& node);

  /// Reports "subject: message" at the node or mark; nothing where an unknown variable has been reported already.
  Diagnostic& error(const Node& node, const std::string& message) { return error(node.mark(), message); }
  Diagnostic& error(const Mark& mark, const std::string& message);
  /// "strides must be ", or "expected " where no key has been named: how a message about the value begins.
  std::string must() const { return key_.empty() ? "expected " : key_ + " must be "; }
  /// Reports "subject: key must be <what>, found 'many'".
  Diagnostic& expected(const Node& node, const std::string& what);
  Diagnostics& diagnostics() noexcept { return diagnostics_; }

 private:
  Node replaced(const Node& node);
  Node counted(Node node);
  std::optional<std::string> from_outside(const std::string& name) const;
  std::optional<std::string> lookup(const std::string& name, const Mark& mark);
  bool begins_outside(const Node& node) const;
  void unknown_variable(const std::string& name, const Mark& mark);

  Diagnostics& diagnostics_;
  std::map<std::string, std::string> variables_, defaults_;
  std::map<std::string, Node> parameters_;
  bool inside_block_ = false;
  std::string subject_, key_;
  std::size_t substituted_bytes_ = 0;
  std::set<std::tuple<const Source*, int, int>> unknown_;  // where an unknown variable has been reported
  Diagnostic unheard_;                                     // takes the messages that only follow from those
};

}  // namespace dptrain::config
