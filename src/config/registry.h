#pragma once

// Registry: what exists for members of a family outside of their definitions: ops of devices, forms in file formats.
//
//   config::Registry<std::type_index, Form>& forms();  // returns a static object of the function
//   using RegisteredForm = config::SpecRegistration<forms>;
//   const RegisteredForm kFlatten = form<nn::FlattenSpec>(...);

#include <map>
#include <typeinfo>
#include <utility>

namespace dptrain::config {

/// Entries by key, added by static objects before main and read-only afterwards: any thread may read it. Declare it as
/// a function's static object, so that it exists before the first registration.
template <class Key, class Entry>
class Registry {
 public:
  void add(const Key& key, Entry entry) { entries_[key] = std::move(entry); }
  bool has(const Key& key) const { return entries_.contains(key); }
  /// Null where there is none.
  const Entry* find(const Key& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }

 private:
  std::map<Key, Entry> entries_;
};

/// A static object of this type adds what a builder of a form for `Spec` builds, by the type of the spec.
template <auto registry>
struct SpecRegistration {
  template <template <class> class Builder, class Spec>
  SpecRegistration(Builder<Spec>&& builder) {  // NOLINT(google-explicit-constructor)
    registry().add(typeid(Spec), std::move(builder).build());
  }
};

}  // namespace dptrain::config
