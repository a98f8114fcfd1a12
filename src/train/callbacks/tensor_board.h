#pragma once

#include <cstdint>
#include <string>

#include "config/typed.h"

namespace dptrain::train {

/// Keras's `update_freq`: scalars of no step (`epoch`), of each step (`batch`), or of every N-th.
struct UpdateFrequency {
  std::int64_t steps = 0;  ///< 0: `epoch`
};

/// Keras's TensorBoard: event files in the run's folder with Keras's tags (docs/reference/run-directory.md).
struct TensorBoardSpec {
  std::string log_dir = "logs";
  std::int64_t histogram_freq = 0;  ///< epochs between two histograms of all weights; 0: none
  bool write_grads = false;         ///< histograms of the gradients of the epoch's last step, too
  bool write_graph = true;
  bool write_steps_per_second = false;
  bool write_hparams = true;
  std::int64_t write_samples = 0;  ///< samples shown per epoch, as training reads them; 0: none
  UpdateFrequency update_freq{};
};

}  // namespace dptrain::train

namespace dptrain::config {
template <>
struct Value<train::UpdateFrequency> {
  static bool read(const Node& node, Reader& reader, train::UpdateFrequency& out);
  static Node write(const train::UpdateFrequency& value);
  static Node schema();
};
}  // namespace dptrain::config
