#pragma once

// What every data set type brings along besides its keys: how it is opened. Each type has a file of its own; a new one
// adds its definition here and to dataset_family().

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "data/source.h"

namespace dptrain::data {

/// A member of the family.
struct DatasetDef : config::TypeDef {
  std::function<const DatasetCommon&(const void* spec)> common;
  /// Throws Error: kData for files, kUsage for what the config says. Empty for Split, which needs another data set.
  std::function<std::shared_ptr<const Source>(const void* spec, const ModelSide& model, Role role)> open;
  /// The files and folders that it names, which must be there.
  std::function<std::vector<config::Path>(const void* spec)> paths;
};

template <class Spec>
std::vector<config::Path> no_paths(const Spec&) {
  return {};
}

/// `schema` lists the keys but for those of DatasetCommon.
template <class Spec, class Open>
std::unique_ptr<config::TypeDef> dataset_def(config::Schema schema, Open open,
                                             std::vector<config::Path> (*paths)(const Spec&) = no_paths<Spec>) {
  using Take = std::optional<std::int64_t> Spec::*;
  using Names = std::vector<std::string> Spec::*;
  schema.key(config::key("take", static_cast<Take>(&DatasetCommon::take)).at_least(1).doc("the first so many samples"));
  schema.key(
      config::key("class_names", static_cast<Names>(&DatasetCommon::class_names)).doc("one name per class, in order"));
  auto def = std::make_unique<DatasetDef>();
  static_cast<config::TypeDef&>(*def) = config::type_def<Spec>(std::move(schema));
  def->common = [](const void* spec) -> const DatasetCommon& { return *static_cast<const Spec*>(spec); };
  def->paths = [paths](const void* spec) { return paths(*static_cast<const Spec*>(spec)); };
  if constexpr (!std::is_same_v<Open, std::nullptr_t>) {
    def->open = [open](const void* spec, const ModelSide& model, Role role) {
      return open(*static_cast<const Spec*>(spec), model, role);
    };
  }
  return def;
}

std::unique_ptr<config::TypeDef> idx_def();
std::unique_ptr<config::TypeDef> image_folder_def();
std::unique_ptr<config::TypeDef> cifar10_def();
std::unique_ptr<config::TypeDef> fixed_records_def();
std::unique_ptr<config::TypeDef> hdf5_dataset_def();
std::unique_ptr<config::TypeDef> synthetic_def();
std::unique_ptr<config::TypeDef> split_def();

}  // namespace dptrain::data
