#pragma once

#include "data/sources/dataset.h"

namespace dptrain::data {

enum class CifarSubset { kTrain, kTest };
/// The binary version of CIFAR-10.
struct CIFAR10Spec : DatasetCommon {
  config::Path directory;
  CifarSubset subset = CifarSubset::kTrain;
};

}  // namespace dptrain::data
