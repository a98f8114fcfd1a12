#pragma once

// The names of a data set's classes, for each output of the model that they label:
//   ClassNames names;
//   names.add("kind", {"cat", "dog"});
//   names.names_of("kind")[label]
// A value; any thread may read it.

#include <initializer_list>
#include <string>
#include <vector>

namespace dptrain {

class ClassNames {
 public:
  struct Entry {
    std::string output;  ///< "": labels without a name, which apply to every output
    std::vector<std::string> names;
    bool operator==(const Entry&) const = default;
  };

  ClassNames() = default;
  /// For labels without a name. Implicit: most data sets have one list.
  ClassNames(std::vector<std::string> names);  // NOLINT(google-explicit-constructor)
  ClassNames(std::initializer_list<std::string> names);

  /// Adds nothing if `names` is empty.
  void add(std::string output, std::vector<std::string> names);

  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }
  /// The names for an output: its own, else those for labels without a name, else none.
  const std::vector<std::string>& names_of(const std::string& output) const;
  /// The names of the first entry; else none.
  const std::vector<std::string>& first() const;
  bool has_named_output() const;
  /// Whether both have names for some output that differ in text or order.
  bool differs_from(const ClassNames& other) const;
  /// "cat, dog", or "kind: cat, dog; size: large, small".
  std::string text() const;

  bool operator==(const ClassNames&) const = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace dptrain
