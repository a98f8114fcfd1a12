#pragma once

#include <string>

namespace dptrain::train {

/// Keras's CSVLogger: a file with one row per epoch in the run's folder.
struct CSVLoggerSpec {
  std::string filename = "log.csv";
  std::string separator = ",";
  bool append = false;
};

}  // namespace dptrain::train
