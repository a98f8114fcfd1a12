#pragma once

// The definition of a callback: its experiment::CallbackType and its factory. In train/callbacks/<name>.{h,cpp}: the
// header has the spec, the source the class and a `callback<Spec>(...)` expression that registers it before main.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/type_builder.h"
#include "experiment/callback_type.h"
#include "train/callback.h"

namespace dptrain::train {

using config::key;

struct CallbackDef final : experiment::CallbackType {
  std::function<std::unique_ptr<Callback>(const void* spec)> make;
};

/// Builder, one expression per callback; RegisteredCallback adds it to the registry:
///   const RegisteredCallback kTimeHistory = callback<TimeHistorySpec>("TimeHistory").runs<TimeHistory>();
template <class Spec>
class CallbackBuilder : public config::TypeBuilder<CallbackBuilder<Spec>, Spec, CallbackDef> {
  using Base = config::TypeBuilder<CallbackBuilder<Spec>, Spec, CallbackDef>;
  using Base::self;
  using Base::type_;

 public:
  using Base::Base;

  CallbackBuilder&& check(void (*f)(const Spec&, experiment::CallbackCheck&)) {
    return type_->check = this->untyped(f), self();
  }
  CallbackBuilder&& files(std::vector<std::string> (*f)(const Spec&)) {
    return type_->files = this->untyped(f), self();
  }
  template <class C>
  CallbackBuilder&& runs() {
    type_->make = [](const void* s) { return std::make_unique<C>(*static_cast<const Spec*>(s)); };
    return self();
  }
};

template <class Spec>
CallbackBuilder<Spec> callback(std::string name) {
  return CallbackBuilder<Spec>(std::move(name));
}

using RegisteredCallback = config::Registration<experiment::callback_family>;

/// A callback from its spec without a config, for tests.
template <class Spec>
std::unique_ptr<Callback> make_callback(const Spec& spec) {
  return make_callback(experiment::CallbackConfig(spec));
}

}  // namespace dptrain::train
