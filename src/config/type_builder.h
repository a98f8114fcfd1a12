#pragma once

// TypeBuilder: name, keys, aliases and rules, which definitions of all families share. A family's builder derives from
// it and adds its own calls; a Registration adds the result to the family before main:
//
//   template <class Spec>
//   class ScheduleBuilder : public config::TypeBuilder<ScheduleBuilder<Spec>, Spec, ScheduleType> { ... };
//   using RegisteredSchedule = config::Registration<schedule_family>;
//   const RegisteredSchedule kCosineDecay = schedule<CosineDecaySpec>("CosineDecay").key(...).rate(cosine_decay);

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "config/family.h"

namespace dptrain::config {

template <class Derived, class Spec, class Type>
class TypeBuilder {
 public:
  explicit TypeBuilder(std::string name) : type_(std::make_unique<Type>()) {
    type_->name = name;
    type_->type = typeid(Spec);
    type_->schema = Schema::of<Spec>(std::move(name));
  }

  /// A key of Spec or of its base.
  template <class Owner, class T>
  Derived&& key(const Key<Owner, T>& k) {
    type_->schema.add(k.template field<Spec>());
    return self();
  }
  template <class Owner, class T>
  Derived&& positional(const Key<Owner, T>& k) {
    Field field = k.template field<Spec>();
    field.positional = true;
    type_->schema.add(std::move(field));
    return self();
  }
  /// Description of the type for `config --reference`: Markdown without a final period.
  Derived&& doc(std::string text) { return type_->schema.doc(std::move(text)), self(); }
  /// Other Keras strings for the type.
  Derived&& aliases(std::initializer_list<const char*> names) {
    type_->aliases.insert(type_->aliases.end(), names.begin(), names.end());
    return self();
  }
  Derived&& alias(std::string name) { return type_->aliases.push_back(std::move(name)), self(); }
  /// A key that is rejected; `advice` describes what to write instead.
  Derived&& rejected_key(std::string key, std::string advice) {
    type_->schema.rejected_key(std::move(key), std::move(advice));
    return self();
  }
  /// A rule over several keys: returns "" or the message.
  Derived&& rule(std::string (*check)(const Spec&)) {
    type_->schema.template rule<Spec>(check);
    return self();
  }

  std::unique_ptr<Type> build() { return std::move(type_); }

 protected:
  Derived&& self() { return static_cast<Derived&&>(*this); }

  /// Wraps f(spec, ...) for an untyped spec.
  template <class Result, class... Args>
  static auto untyped(Result (*f)(const Spec&, Args...)) {
    return [f](const void* spec, Args... args) -> Result {
      return f(*static_cast<const Spec*>(spec), std::forward<Args>(args)...);
    };
  }

  std::unique_ptr<Type> type_;
};

/// A static object of this type adds a definition to the family before main, sorted by name.
template <Family& (*family)()>
struct Registration {
  template <class Type>
  Registration(std::unique_ptr<Type> type) {  // NOLINT(google-explicit-constructor)
    family().add_by_name(std::move(type));
  }
  template <class Derived, class Spec, class Type>
  Registration(TypeBuilder<Derived, Spec, Type>&& builder)  // NOLINT(google-explicit-constructor)
      : Registration(static_cast<Derived&&>(builder).build()) {}
};

}  // namespace dptrain::config
