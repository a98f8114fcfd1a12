/// The YAML files of the repository, compiled into the executable so that `dptrain init` and networks need no files.
/// The tables are read-only: any thread may read them. The build writes their definitions (cmake/BundledConfigs.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace dptrain::config {

struct BundledFile {
  std::string_view name;  ///< Path under configs/ with its suffix: "fashion_mnist.yaml", "networks/vgg16.yaml".
  std::string_view text;  ///< The file with its comments.
};

/// Whole experiments, sorted by name.
const std::vector<BundledFile>& bundled_configs();
/// configs/networks/: definitions of networks (graph/network.h), sorted by name.
const std::vector<BundledFile>& bundled_networks();

}  // namespace dptrain::config
