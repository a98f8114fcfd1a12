#pragma once

// DIR|CONFIG of `dptrain data`: opens data sets without a plan or a device. Main thread; any thread may read them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"
#include "experiment/experiment.h"

namespace dptrain::cli {

struct NamedSet {
  std::string name;  ///< "train", or the folder
  std::shared_ptr<const data::Source> source;
};

struct DataSets {
  std::optional<experiment::Experiment> experiment;  ///< if the path is a config
  data::ModelSide model;
  std::vector<NamedSet> sets;
};

/// Opens the data sets of a folder, a data file or a config. A folder contains images, or clips if most of its files
/// are. Sub-folders are classes, or train with val or test; without any there are no classes. `only`: the role to open,
/// for a config. Throws Error{kUsage, kData}.
DataSets open_data_sets(const std::string& path, const experiment::Overrides& overrides,
                        const std::optional<std::string>& only);

}  // namespace dptrain::cli
