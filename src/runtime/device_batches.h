#pragma once

// DeviceBatches: copies a slice's inputs and labels from the host to where ops read them. A device that reads host
// memory uses the slice in place. Otherwise copies on a separate stream fill one of up to two sets of buffers, so the
// next micro-batch arrives during the computation of the current one. Owned by a StepRunner, used on its thread.
//
// The caller may change the host memory once it has the step's sums, because the computation waits for the copies.

#include <map>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "plan/plan.h"
#include "runtime/device_input.h"
#include "runtime/replica.h"

namespace dptrain::runtime {

/// A slice where ops read it.
struct DeviceBatch {
  std::vector<const void*> inputs{};  ///< one per graph input, in its tensor's type; null: not read in this slot
  std::vector<const void*> labels{};  ///< one per loss, as `inputs`
  const float* sample_weights = nullptr;
};

class DeviceBatches {
 public:
  /// For slices of up to `rows` rows; `sets`: 1 or 2. Copies only the data that this slot of the plan reads.
  DeviceBatches(const plan::Plan& plan, backend::Device& device, std::int64_t rows, int sets, int slot = 0);
  /// Afterwards slices may refer to the data set by `number` instead of having inputs.
  void add_dataset(int number, const DeviceDataset& dataset);

  /// Queues the copies to a set, after the last use of it.
  void copy(const BatchView& slice, int set);
  /// Makes later work on `compute` wait for the copies.
  DeviceBatch arrive(const BatchView& slice, int set, backend::Stream& compute);
  /// Marks the work queued on `compute` so far as the last use of the set.
  void release(int set, backend::Stream& compute);

  std::size_t bytes() const;

 private:
  struct Set {
    std::vector<std::unique_ptr<backend::Buffer>> inputs;
    std::vector<std::unique_ptr<backend::Buffer>> labels;
    std::unique_ptr<backend::Buffer> sample_weights;
    std::unique_ptr<backend::Event> arrived, released;
  };

  void copy_inputs(const BatchView& slice, Set& set);

  const plan::Plan& plan_;
  backend::Device& device_;
  const std::int64_t rows_;
  std::vector<bool> reads_input_, reads_labels_;  ///< per graph input, per loss: whether the slot reads it
  std::unique_ptr<backend::Stream> stream_;       ///< null: the device reads host memory
  std::unique_ptr<backend::Buffer> floats_;       ///< an input before its conversion to the compute type
  std::vector<Set> sets_;
  std::map<int, DeviceInput> datasets_;
};

}  // namespace dptrain::runtime
