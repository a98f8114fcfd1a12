#include "data/sources/dataset.h"

namespace dptrain::data {

config::Family& dataset_family() {
  static config::Family family = [] {
    config::Family made("data set");
    for (const auto def :
         {idx_def, image_folder_def, cifar10_def, fixed_records_def, hdf5_dataset_def, synthetic_def, split_def})
      made.add(def());
    return made;
  }();
  return family;
}

}  // namespace dptrain::data
