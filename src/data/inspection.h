#pragma once

// Inspects a data set: its contents and the samples that cannot be read (scan), and the statistics of its values
// (data_stats). Main thread; samples are read on all cores. The results do not depend on the number of threads.
//
//   const DataScan found = scan(*source);
//   log::print(scan_report("train", found));

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/on_error.h"
#include "data/source.h"
#include "data/transform.h"

namespace dptrain::data {

/// Calls f(index) once for every sample, on all cores. Rethrows the exception with the lowest index when all are done.
/// `what`: name of the activity, shown with the progress.
void for_each_sample(const std::string& what, std::int64_t samples, const std::function<void(std::int64_t)>& f);

struct DataScan {
  std::int64_t samples = 0;
  std::vector<std::string> columns{};                           ///< Source::column_lines() of a table
  std::vector<std::pair<std::string, std::int64_t>> classes{};  ///< in order of the labels; empty: no classes
  std::map<std::string, std::int64_t> formats{},
      color_modes{};                              ///< files per format and mode; unrecognised files are in neither
  std::vector<std::int64_t> heights{}, widths{};  ///< of readable samples, sorted
  std::int64_t sizes = 0;                         ///< number of different sizes
  std::vector<std::int64_t> frames{};             ///< of readable clips, sorted
  std::vector<std::string> misnamed{};            ///< "a.jpg: png"
  std::vector<BadSample> damaged{};               ///< in order of the data set
};

DataScan scan(const Source& source);

std::string scan_report(const std::string& name, const DataScan& scan);

struct DataStats {
  std::int64_t samples = 0, unreadable = 0;
  std::int64_t pixels = 0;                                ///< number of summed pixels, all of equal weight
  std::vector<double> mean{}, variance{}, low{}, high{};  ///< per channel, the last axis
  std::vector<std::int64_t> heights{}, widths{};          ///< of the images as read, sorted
};

/// Statistics of input `input` after `pipeline`. Channels are the last axis of images and, with `columns`, of rows of
/// steps; other samples have one. Throws Error{kData} if no sample is readable or the number of channels differs.
DataStats data_stats(const Source& source, int input, const Pipeline& pipeline, bool columns = false);

/// Pixels of each class in the masks of a label.
struct PixelClasses {
  std::int64_t masks = 0, unreadable = 0;
  std::int64_t pixels = 0;
  std::map<std::int64_t, std::int64_t> counts{};  ///< by class number
};

/// Reads the masks of label `which`, a kMap. Masks that cannot be read are counted only.
PixelClasses count_pixel_classes(const Source& source, int which);

/// A line per class: number, name, pixels, share.
std::string pixel_classes_report(const std::string& name, const PixelClasses& found,
                                 const std::vector<std::string>& class_names);

/// The last line is the Normalization.
std::string stats_report(const std::string& name, const DataStats& stats, const std::string& values);

}  // namespace dptrain::data
