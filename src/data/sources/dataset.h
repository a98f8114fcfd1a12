#pragma once

// Definition of a data set type: sources/<name>.h has its spec; sources/<name>.cpp opens it and registers it with one
// `dataset_def<Spec>(schema, open, paths).predict(open_for_predict)` expression. The family is filled before main and
// read-only afterwards.

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
/// `[cat, dog]`, or {label: [cat, dog]}.
template <>
struct Value<ClassNames> {
  static bool read(const Node&, Reader&, ClassNames& out);
  static Node write(const ClassNames&);
  static Node schema();
};
}  // namespace dptrain::config

namespace dptrain::data {

using config::key;

/// A part of another role's data set.
struct DatasetPart {
  std::string of;       ///< the role
  double fraction = 0;  ///< fraction of its samples
  bool stratified = false;
  bool shuffle = true;                ///< false: the last samples
  std::optional<std::uint64_t> seed;  ///< absent: the config's seed
};

/// A data set type.
struct DatasetDef final : config::TypeDef {
  std::function<const DatasetCommon&(const void* spec)> common;
  /// Throws Error: kData for files, kUsage for the config. Empty if `part` is set.
  std::function<std::shared_ptr<const Source>(const void* spec, const ModelSide& model, Role role)> open;
  /// Files and folders of the spec, which must exist.
  std::function<std::vector<config::Path>(const void* spec)> paths;
  /// Set if the type is a part of another role's data set.
  std::function<DatasetPart(const void* spec)> part;
  std::function<bool(const void* spec)> needs_fit;  ///< whether its sources must be fitted; empty: no
  bool is_synthetic = false;                        ///< reads no files: `--data synthetic` does not replace it
  /// Opens the user's files (data/sources/predict.h). `spec` is null if the model was trained on other data. Empty:
  /// predict cannot read this type.
  std::function<PredictSource(const void* spec, const PredictFiles& files, const ModelSide& model)> open_for_predict;
  PredictTraits predict;
  /// Opens a path without a config (`dptrain data PATH`), skipping bad samples; null for a path of another kind.
  std::function<std::shared_ptr<const Source>(const std::string& path)> open_path;
};

template <class Spec>
std::vector<config::Path> no_paths(const Spec&) {
  return {};
}

inline const DatasetDef& def_of(const config::Typed& spec) { return static_cast<const DatasetDef&>(spec.def()); }
/// Whether sources of this data set must be fitted (Source::fit).
inline bool needs_fit(const config::Typed& spec) {
  return def_of(spec).needs_fit && def_of(spec).needs_fit(spec.spec());
}

/// Throws an error with the data set's place in the config.
[[noreturn]] void fail_at(const config::Typed& spec, ErrorKind kind, const std::string& message);
/// Opens a data set that is not a Split and applies its `take`. Throws Error{kData, kUsage} with its place.
std::shared_ptr<const Source> open_data_set(const config::Typed& spec, const ModelSide& model, Role role);

/// Opens the path with the first data set type that reads it; null if none does. Throws Error{kData, kUsage}.
std::shared_ptr<const Source> open_path(const std::string& path);

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

  /// `open`: PredictSource(const Spec*, const PredictFiles&, const ModelSide&). The spec is never null if the traits
  /// require a trained model.
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
  DatasetBuilder&& needs_fit(bool (*f)(const Spec&)) { return type_->needs_fit = untyped(f), self(); }
  DatasetBuilder&& part(DatasetPart (*f)(const Spec&)) { return type_->part = untyped(f), self(); }
  DatasetBuilder&& open_path(std::shared_ptr<const Source> (*f)(const std::string& path)) {
    return type_->open_path = f, self();
  }
  DatasetBuilder&& mark_synthetic() { return type_->is_synthetic = true, self(); }
};

/// `schema` lists the keys except those of DatasetCommon, which this function adds.
template <class Spec, class Open>
DatasetBuilder<Spec> dataset_def(config::Schema schema, Open open,
                                 std::vector<config::Path> (*paths)(const Spec&) = no_paths<Spec>) {
  schema.add(config::key("take", &DatasetCommon::take)
                 .at_least(1)
                 .doc("number of samples, the first ones; default: all")
                 .template field<Spec>());
  schema.add(config::key("class_names", &DatasetCommon::class_names)
                 .doc("one name per class, in the order of the labels; for several labels as {kind: [cat, dog], size: "
                      "[small, large]}; default: from the data set, if it has names")
                 .template field<Spec>());
  schema.add(config::key("ignore_class", &DatasetCommon::ignore_class)
                 .between(-1, 65535)
                 .doc("label of positions that losses and metrics leave out, often 255")
                 .template field<Spec>());
  schema.add(config::key("fill_label", &DatasetCommon::fill_label)
                 .at_least(0)
                 .doc("label of positions that a transform takes from outside of the image; default: `ignore_class`, "
                      "else 0")
                 .template field<Spec>());
  DatasetBuilder<Spec> builder(std::move(schema));
  builder.paths(paths);
  if constexpr (!std::is_same_v<Open, std::nullptr_t>) builder.opens(std::move(open));
  return builder;
}

using RegisteredDataset = config::Registration<dataset_family>;

}  // namespace dptrain::data
