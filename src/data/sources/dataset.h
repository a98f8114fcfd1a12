#pragma once

// How a data set is defined: sources/<name>.h has its spec, sources/<name>.cpp how it is opened and one
// `dataset_def<Spec>(schema, open, paths).predict(open_for_predict)` expression that registers it. The family is filled
// before main and read-only afterwards.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/type_builder.h"
#include "core/error.h"
#include "data/source.h"
#include "data/sources/predict.h"

namespace dptrain::config {
/// `[cat, dog]`, or {label: such a list}.
template <>
struct Value<ClassNames> {
  static bool read(const Node&, Reader&, ClassNames& out);
  static Node write(const ClassNames&);
  static Node schema();
};
}  // namespace dptrain::config

namespace dptrain::data {

using config::key;

/// The share of another role's data set.
struct DatasetPart {
  std::string of;       ///< the role
  double fraction = 0;  ///< of its samples
  bool stratified = false;
  bool shuffle = true;                ///< drawn at random; else the last samples
  std::optional<std::uint64_t> seed;  ///< seed of the draw; none: the config's
};

/// A member of the family.
struct DatasetDef final : config::TypeDef {
  std::function<const DatasetCommon&(const void* spec)> common;
  /// Throws Error: kData for files, kUsage for what the config says. Empty where `part` is set.
  std::function<std::shared_ptr<const Source>(const void* spec, const ModelSide& model, Role role)> open;
  /// The files and folders that it names, which must be there.
  std::function<std::vector<config::Path>(const void* spec)> paths;
  /// Set for what is a part of another role's data set.
  std::function<DatasetPart(const void* spec)> part;
  std::function<bool(const void* spec)> learns;  ///< whether its sources learn(); empty: no
  bool is_made_up = false;                       ///< reads no files: `--data synthetic` leaves it as it is
  /// Opens files of the user's in place of its own (data/sources/predict.h). `spec` is null for a model that was
  /// trained on other data. Empty: predict cannot read this type.
  std::function<PredictSource(const void* spec, const PredictFiles& files, const ModelSide& model)> open_for_predict;
  PredictTraits predict;
  /// Opens a path that the user names without a config (`dptrain data PATH`), and leaves bad samples out; null for a
  /// path of another kind.
  std::function<std::shared_ptr<const Source>(const std::string& path)> open_path;
};

template <class Spec>
std::vector<config::Path> no_paths(const Spec&) {
  return {};
}

inline const DatasetDef& def_of(const config::Typed& spec) { return static_cast<const DatasetDef&>(spec.def()); }
/// Whether sources of this data set learn (Source::learn).
inline bool learns(const config::Typed& spec) { return def_of(spec).learns && def_of(spec).learns(spec.spec()); }

/// An error about a data set, at its place in the config.
[[noreturn]] void fail_at(const config::Typed& spec, ErrorKind kind, const std::string& message);
/// Opens what is no part of another role's, with its `take`. Throws Error{kData, kUsage} at its place.
std::shared_ptr<const Source> open_data_set(const config::Typed& spec, const ModelSide& model, Role role);

/// By the first data set whose open_path reads it; null: none does. Throws Error{kData, kUsage}.
std::shared_ptr<const Source> open_path(const std::string& path);

/// One expression per data set: dataset_def<Spec>(schema, open, paths).predict(...).
template <class Spec>
class DatasetBuilder : public config::TypeBuilder<DatasetBuilder<Spec>, Spec, DatasetDef> {
  using Base = config::TypeBuilder<DatasetBuilder<Spec>, Spec, DatasetDef>;
  using Base::self;
  using Base::type_;
  using Base::untyped;

 public:
  explicit DatasetBuilder(config::Schema schema) : Base(schema.name()) {
    type_->schema = std::move(schema);
    type_->common = [](const void* spec) -> const DatasetCommon& { return *static_cast<const Spec*>(spec); };
  }

  /// `open`: PredictSource(const Spec*, const PredictFiles&, const ModelSide&). The spec is never null where the traits
  /// need a trained model.
  template <class Open>
  DatasetBuilder&& predict(Open open, PredictTraits traits = {}) {
    type_->open_for_predict = [open](const void* spec, const PredictFiles& files, const ModelSide& model) {
      return open(static_cast<const Spec*>(spec), files, model);
    };
    type_->predict = std::move(traits);
    return self();
  }
  template <class Open>
  DatasetBuilder&& opens(Open open) {
    type_->open = [open](const void* spec, const ModelSide& model, Role role) {
      return open(*static_cast<const Spec*>(spec), model, role);
    };
    return self();
  }
  DatasetBuilder&& paths(std::vector<config::Path> (*f)(const Spec&)) { return type_->paths = untyped(f), self(); }
  DatasetBuilder&& learns(bool (*f)(const Spec&)) { return type_->learns = untyped(f), self(); }
  DatasetBuilder&& part(DatasetPart (*f)(const Spec&)) { return type_->part = untyped(f), self(); }
  DatasetBuilder&& open_path(std::shared_ptr<const Source> (*f)(const std::string& path)) {
    return type_->open_path = f, self();
  }
  DatasetBuilder&& made_up() { return type_->is_made_up = true, self(); }
};

/// `schema` lists the keys but for those of DatasetCommon.
template <class Spec, class Open>
DatasetBuilder<Spec> dataset_def(config::Schema schema, Open open,
                                 std::vector<config::Path> (*paths)(const Spec&) = no_paths<Spec>) {
  schema.add(config::key("take", &DatasetCommon::take)
                 .at_least(1)
                 .doc("number of samples, the first ones")
                 .template field<Spec>());
  schema.add(config::key("class_names", &DatasetCommon::class_names)
                 .doc("one name per class, in order, or {label: names}")
                 .template field<Spec>());
  DatasetBuilder<Spec> builder(std::move(schema));
  builder.paths(paths);
  if constexpr (!std::is_same_v<Open, std::nullptr_t>) builder.opens(std::move(open));
  return builder;
}

using RegisteredDataset = config::Registration<dataset_family>;

}  // namespace dptrain::data
