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
    std::string output;  ///< "": labels without a name, which serve every output
    std::vector<std::string> names;
    bool operator==(const Entry&) const = default;
  };

  ClassNames() = default;
  /// Of labels without a name.
  ClassNames(std::vector<std::string> names);            // NOLINT(google-explicit-constructor): most data sets
  ClassNames(std::initializer_list<std::string> names);  // have one list

  /// Without names nothing is added.
  void add(std::string output, std::vector<std::string> names);

  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }
  /// Of an output: its own, or those without a name; else none.
  const std::vector<std::string>& names_of(const std::string& output) const;
  /// Of the first output that has names; else none.
  const std::vector<std::string>& first() const;
  bool has_named_output() const;
  /// Whether an output has names in both and they, or their order, differ.
  bool differs_from(const ClassNames& other) const;
  /// "cat, dog", or "kind: cat, dog; size: large, small".
  std::string text() const;

  bool operator==(const ClassNames&) const = default;

 private:
  std::vector<Entry> entries_;
};

}  // namespace dptrain
