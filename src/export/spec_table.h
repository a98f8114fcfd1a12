#pragma once

// What a format has for members of a family (layers, metrics, optimizers), by the type of the member's spec. Objects
// that register themselves fill a table before main; afterwards any thread may read it. A table is a function's static
// object, so that it exists before the first registration.

#include <map>
#include <typeindex>
#include <utility>

namespace dptrain::exporting {

template <class Entry>
class SpecTable {
 public:
  void add(std::type_index spec, Entry entry) { entries_[spec] = std::move(entry); }
  /// Null: the format has nothing of its own for it.
  const Entry* find(std::type_index spec) const {
    const auto found = entries_.find(spec);
    return found == entries_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::type_index, Entry> entries_;
};

}  // namespace dptrain::exporting
