#pragma once

// Reads scalars of the tree as typed values: substitutes `$NAME`, evaluates `1/255`, `0.1%`, `2 * $filters`, and
// reports errors with their location and subject. One per load; not thread-safe.

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

  /// `--var NAME=VALUE`. Other names are looked up in the environment, then in the file's `vars`.
  void set_variable(const std::string& name, const std::string& value) { variables_[name] = value; }
  /// The file's `vars`: {NAME: text}. Call it before anything else is read.
  void read_defaults(const Node& vars);

  /// RAII: the parameters of the block being expanded. Inner blocks hide all parameters of outer ones. Variables in the
  /// parameters are replaced first, in the outer scope.
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
  /// RAII: the subject of messages, "Conv2D 'conv1'" in "Conv2D 'conv1': strides must be ...". Hides outer ones.
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
  /// RAII: the key being read, "strides" in "strides must be ...". Hides outer ones; a Subject starts without a key.
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

  /// Replaces each `$NAME`, or `${NAME}` where a letter follows. A scalar that is exactly `$NAME` becomes the
  /// parameter's node; elsewhere its text is inserted, in parentheses if in arithmetic. `$$` becomes a dollar; a `$`
  /// before anything else stays. The mark stays that of the use. Reports unknown names. Idempotent. Throws ConfigError
  /// when nested variables exceed kMaxSubstituted, which bounds memory.
  Node substituted(const Node& node);
  static constexpr std::size_t kMaxSubstituted = std::size_t{16} << 20;  ///< bytes per load; a node counts 64

  // These substitute variables first. They report an error and return nothing if the node has another type.
  std::optional<double> number(const Node& node);         ///< + - * / ( ), 1e-3, 0.1%, floor(x)
  std::optional<std::int64_t> integer(const Node& node);  ///< a number that is whole
  std::optional<bool> boolean(const Node& node);          ///< true or false only
  std::optional<bool> condition(const Node& node);        ///< a boolean, or `not $a and $b == same or $c > 1`
  std::optional<std::string> text(const Node& node);      ///< any scalar as written
  /// Text as an absolute, normalized path. Relative paths are joined to the directory of their file, or to the current
  /// directory if a variable from outside the file begins the text.
  std::optional<std::string> path(const Node& node);

  /// Reports "subject: message" at the node or mark, except where an unknown variable has already been reported.
  Diagnostic& error(const Node& node, const std::string& message) { return error(node.mark(), message); }
  Diagnostic& error(const Mark& mark, const std::string& message);
  /// How a message about the value begins: "strides must be ", or "expected " without a key.
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
  Diagnostic unheard_;                                     // receives the errors that follow from those; not shown
};

}  // namespace dptrain::config
