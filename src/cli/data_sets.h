#pragma once

// DIR|CONFIG of `dptrain data`: the data sets that are meant, opened without a model's plan or a device. Main thread;
// the sources may be read by any.

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
  std::optional<experiment::Experiment> experiment;  ///< of a config
  data::ModelSide model;
  std::vector<NamedSet> sets;
};

/// A folder of images, or of files of clips where most are such by their suffixes: its class folders, or, where it has
/// no sub-folders, its files without classes. Otherwise a config: the data sets that it names, or the one with the role
/// `only`. Throws Error{kUsage, kData}.
DataSets open_data_sets(const std::string& path, const experiment::Overrides& overrides,
                        const std::optional<std::string>& only);

/// Calls f(index) for every sample, on as many threads as the process has cores, each index once; the first exception,
/// by index, is thrown when all are done. `what` is said while it goes on.
void for_each_sample(const std::string& what, std::int64_t samples, const std::function<void(std::int64_t)>& f);

}  // namespace dptrain::cli
