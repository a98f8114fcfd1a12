#include "data/sources/dataset.h"

namespace dptrain::data {

config::Family& dataset_family() {
  static config::Family family("data set");
  return family;
}

}  // namespace dptrain::data
