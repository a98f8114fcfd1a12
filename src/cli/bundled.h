/// The configs of the repository, compiled into the executable so that `dptrain init` works wherever the binary is.
/// The table is static and read-only: any thread may read it. Its definition is written by the build
/// (cmake/BundledConfigs.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace dptrain::cli {

struct BundledFile {
  std::string_view name;  ///< Path under configs/ with its suffix: "fashion_mnist.yaml", "bench/mlp.yaml".
  std::string_view text;  ///< The file as it stands in the repository, comments included.
};

/// Sorted by name.
const std::vector<BundledFile>& bundled_configs();

}  // namespace dptrain::cli
