#pragma once

// Registry: what modules add to the members of a family, such as ops of a backend and forms in file formats.
//
//   config::Registry<std::type_index, Form>& forms();  // returns a static object of the function
//   using RegisteredForm = config::SpecRegistration<forms>;
//   const RegisteredForm kFlatten = form<nn::FlattenSpec>(...);

#include <map>
#include <typeinfo>
#include <utility>

namespace dptrain::config {

/// Entries by key, added by static objects before main and read-only afterwards: any thread may read. Declare it as a
/// static object in a function, so that it exists before the first registration.
template <class Key, class Entry>
class Registry {
 public:
  void add(const Key& key, Entry entry) { entries_[key] = std::move(entry); }
  bool has(const Key& key) const { return entries_.contains(key); }
  const Entry* find(const Key& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second;
  }

 private:
  std::map<Key, Entry> entries_;
};

/// A static object of this type registers the form that a builder for `Spec` builds.
template <auto registry>
struct SpecRegistration {
  template <template <class> class Builder, class Spec>
  SpecRegistration(Builder<Spec>&& builder) {  // NOLINT(google-explicit-constructor)
    registry().add(typeid(Spec), std::move(builder).build());
  }
};

}  // namespace dptrain::config
