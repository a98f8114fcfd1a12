#pragma once

// The whole definition of a callback: what experiment/callback_type.h says of it, and how it is made. One per callback,
// in train/callbacks/<name>.{h,cpp}; the .h holds the spec struct, the .cpp the class and one `callback<Spec>(...)`
// expression that registers it before main.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiment/callback_type.h"
#include "train/callback.h"

namespace dptrain::train {

using config::key;

struct CallbackDef final : experiment::CallbackType {
  std::function<std::unique_ptr<Callback>(const void* spec)> make;
};

/// Builder, one expression per callback; RegisteredCallback puts it into the registry:
///   const RegisteredCallback kTimeHistory = callback<TimeHistorySpec>("TimeHistory").runs<TimeHistory>();
template <class Spec>
class CallbackBuilder {
 public:
  explicit CallbackBuilder(std::string name) : def_(std::make_unique<CallbackDef>()) {
    def_->name = name;
    def_->type = typeid(Spec);
    def_->schema = config::Schema::of<Spec>(std::move(name));
  }

  template <class T>
  CallbackBuilder&& key(const config::Key<Spec, T>& k) && {
    def_->schema.key(k);
    return std::move(*this);
  }
  template <class T>
  CallbackBuilder&& positional(const config::Key<Spec, T>& k) && {
    def_->schema.positional(k);
    return std::move(*this);
  }
  /// A key that there was, or is elsewhere: `words` say what to write instead.
  CallbackBuilder&& former(std::string key, std::string words) && {
    static_cast<void>(std::move(def_->schema).former(std::move(key), std::move(words)));  // gives itself back
    return std::move(*this);
  }
  CallbackBuilder&& check(void (*f)(const Spec&, experiment::CallbackCheck&)) && {
    def_->check = [f](const void* s, experiment::CallbackCheck& check) { f(*static_cast<const Spec*>(s), check); };
    return std::move(*this);
  }
  CallbackBuilder&& files(std::vector<std::string> (*f)(const Spec&)) && {
    def_->files = [f](const void* s) { return f(*static_cast<const Spec*>(s)); };
    return std::move(*this);
  }
  /// C is made from the spec.
  template <class C>
  CallbackBuilder&& runs() && {
    def_->make = [](const void* s) { return std::make_unique<C>(*static_cast<const Spec*>(s)); };
    return std::move(*this);
  }

  std::unique_ptr<CallbackDef> build() && { return std::move(def_); }

 private:
  std::unique_ptr<CallbackDef> def_;
};

template <class Spec>
CallbackBuilder<Spec> callback(std::string name) {
  return CallbackBuilder<Spec>(std::move(name));
}

struct RegisteredCallback {
  template <class Spec>
  RegisteredCallback(CallbackBuilder<Spec>&& builder) {  // NOLINT(google-explicit-constructor)
    experiment::callback_family().add_by_name(std::move(builder).build());
  }
};

/// A callback from its spec, for whoever has no config: tests.
template <class Spec>
std::unique_ptr<Callback> make_callback(const Spec& spec) {
  return make_callback(experiment::CallbackConfig(spec));
}

}  // namespace dptrain::train
