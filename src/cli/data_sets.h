#pragma once

// DIR|CONFIG of `dptrain data`: opens data sets without a plan or a device. Main thread; any thread may read them.

#include <cstdint>
#include <functional>
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

/// Calls f(index) once for every sample, on as many threads as the process has cores. Rethrows the exception with the
/// lowest index when all are done. `what` is shown with the progress.
void for_each_sample(const std::string& what, std::int64_t samples, const std::function<void(std::int64_t)>& f);

}  // namespace dptrain::cli
