#pragma once

// What devices have for members of a family (ops of layers, losses, metrics, optimizers), by device kind and the type
// of the member's spec. Objects that register themselves fill a table before main; afterwards any thread may read it.
// A table is a function's static object, so that it exists before the first registration.

#include <map>
#include <typeindex>
#include <utility>

#include "backend/device.h"

namespace dptrain::backend {

template <class Entry>
class DeviceTable {
 public:
  void add(DeviceKind kind, std::type_index spec, Entry entry) { entries_[{kind, spec}] = std::move(entry); }
  bool has(DeviceKind kind, std::type_index spec) const { return find(kind, spec) != nullptr; }
  /// Null: the device has none.
  const Entry* find(DeviceKind kind, std::type_index spec) const {
    const auto found = entries_.find({kind, spec});
    return found == entries_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::pair<DeviceKind, std::type_index>, Entry> entries_;
};

}  // namespace dptrain::backend
