/// The YAML files of the repository that are compiled into the executable, so that `dptrain init` and the networks work
/// wherever the binary is. The tables are static and read-only: any thread may read them. Their definitions are written
/// by the build (cmake/BundledConfigs.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace dptrain::config {

struct BundledFile {
  std::string_view name;  ///< Path under configs/ with its suffix: "fashion_mnist.yaml", "networks/vgg16.yaml".
  std::string_view text;  ///< The file as it stands in the repository, comments included.
};

/// Whole experiments, sorted by name.
const std::vector<BundledFile>& bundled_configs();
/// configs/networks/: definitions of networks (graph/network.h), sorted by name.
const std::vector<BundledFile>& bundled_networks();

}  // namespace dptrain::config
