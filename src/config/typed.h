#pragma once

// Types of configured values, for headers that only store them: locations, paths, durations, sizes, members of
// families. config/value.h reads and writes them; config/family.h defines members. Plain values.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

namespace dptrain::config {

class Diagnostics;
class Family;
class Node;
class Reader;
class Schema;
struct TypeDef;

template <class T, class = void>
struct Value;
/// In namespace dptrain::config: declares Value<T> (config/value.h), whose members a source defines.
#define DPTRAIN_CONFIG_VALUE(T)                     \
  template <>                                       \
  struct Value<T> {                                 \
    static bool read(const Node&, Reader&, T& out); \
    static Node write(const T&);                    \
    static Node schema();                           \
  }

/// Specialise for an enum: `static constexpr std::array names{std::pair{Padding::kValid, "valid"}, ...};`
template <class E>
struct EnumNames;

/// One file (or command-line text such as `--set`) that nodes refer to.
struct Source {
  std::string name;                ///< as written by the user: "configs/fashion_mnist.yaml", "--set"
  std::string directory;           ///< base of the relative paths in it
  std::vector<std::string> lines;  ///< for the quoted line below an error
};

/// A location in a source. Lines and columns count from 1; line 0 means none (a default value).
struct Mark {
  std::shared_ptr<const Source> source;
  int line = 0;
  int column = 0;
  int length = 1;  ///< characters to underline

  bool known() const noexcept { return source != nullptr && line > 0; }
  std::string str() const;  ///< "configs/fashion_mnist.yaml:14:12"
};

/// A path; relative paths are relative to the config file.
struct Path {
  std::string value;
  Mark mark{};  ///< where it is written; unknown for defaults
  bool operator==(const Path& other) const { return value == other.value; }
};

/// "N steps|epochs|samples|seconds|minutes|hours" or 30s, 10m, 2h. kBare: an integer, with the unit of Keras.
struct Duration {
  enum class Unit { kBare, kSteps, kEpochs, kSamples, kSeconds };  ///< minutes and hours become seconds
  double value = 0;
  Unit unit = Unit::kBare;
  bool operator==(const Duration&) const = default;

  bool counts_steps() const { return unit == Unit::kBare || unit == Unit::kSteps; }
  /// In optimizer steps; a bare number counts steps. Throws Error{kUsage} for seconds.
  std::int64_t steps(std::int64_t steps_per_epoch, std::int64_t batch_size) const;
};

/// "512 KiB", "25 MiB", "1 GiB" or plain bytes.
struct ByteSize {
  std::uint64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

/// A member of a family: its definition and an immutable spec. Cheap to copy.
class Typed {
 public:
  Typed() = default;
  Typed(const TypeDef& def, std::shared_ptr<const void> spec, Mark mark = {})
      : def_(&def), spec_(std::move(spec)), mark_(std::move(mark)) {}

  explicit operator bool() const noexcept { return def_ != nullptr; }
  const TypeDef& def() const { return *def_; }
  const std::string& name() const;
  std::type_index type() const;
  const void* spec() const noexcept { return spec_.get(); }
  const Mark& mark() const noexcept { return mark_; }

  template <class Spec>
  const Spec* get_if() const noexcept {
    return def_ != nullptr && type() == typeid(Spec) ? static_cast<const Spec*>(spec_.get()) : nullptr;
  }
  /// The spec; its type must match.
  template <class Spec>
  const Spec& as() const {
    return *get_if<Spec>();
  }

  /// `Name: {all keys}`, or with `minimal` only the keys that differ from the defaults (`Name` if none does).
  Node write(bool minimal = false) const;

 private:
  const TypeDef* def_ = nullptr;
  std::shared_ptr<const void> spec_;
  Mark mark_;
};

Typed make_typed(const Family& family, std::type_index spec, std::shared_ptr<const void> value);

/// The type of a key that holds a member of a family: `Of<initializer_family> kernel_initializer{GlorotUniform{}}`.
template <Family& (*family)()>
class Of : public Typed {
 public:
  Of() = default;
  Of(Typed typed) : Typed(std::move(typed)) {}  // NOLINT(google-explicit-constructor)
  template <class Spec>
  requires(!std::is_base_of_v<Typed, Spec>) explicit Of(Spec spec)
      : Typed(make_typed(family(), typeid(Spec), std::make_shared<const Spec>(std::move(spec)))) {}
};

}  // namespace dptrain::config
