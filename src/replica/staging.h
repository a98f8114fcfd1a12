#pragma once

// Staging: how a slice's inputs and labels get from the host to where ops read them. A device that reads the host's
// memory is given the slice as it is; for others copies go through a stream of their own into one of two sets of
// buffers, so that the next micro-batch can arrive while one is computed. Owned by an Executor, used on its thread.
//
// The host's memory may change when the step's sums have come back: what was computed waited for the copies.

#include <map>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "plan/plan.h"
#include "replica/device_input.h"
#include "replica/replica.h"

namespace dptrain::replica {

class Staging {
 public:
  /// For slices of up to `rows` rows; `sets`: 1 or 2. Brings what is read in that slot of the plan.
  Staging(const plan::Plan& plan, backend::Device& device, std::int64_t rows, int sets, int slot = 0);
  /// Slices may name a feed by `number` from now on, instead of having inputs.
  void add_feed(int number, const Feed& feed);

  /// Where ops read a slice.
  struct Place {
    std::vector<const void*> inputs{};  ///< one per graph input, of its tensor's type; null: not read here
    std::vector<const void*> labels{};  ///< one per loss, likewise
    const float* sample_weights = nullptr;
  };

  /// Queues the copies to a set, behind the last use of it.
  void copy(const BatchRows& slice, int set);
  /// What is queued on `compute` from now on finds the slice in place.
  Place arrive(const BatchRows& slice, int set, backend::Stream& compute);
  /// What is queued on `compute` until now was the last use of the set.
  void release(int set, backend::Stream& compute);

  std::size_t bytes() const;

 private:
  struct Set {
    std::vector<std::unique_ptr<backend::Buffer>> inputs;
    std::vector<std::unique_ptr<backend::Buffer>> labels;
    std::unique_ptr<backend::Buffer> sample_weights;
    std::unique_ptr<backend::Event> arrived, released;
  };

  void copy_inputs(const BatchRows& slice, Set& set);

  const plan::Plan& plan_;
  backend::Device& device_;
  const std::int64_t rows_;
  std::vector<bool> reads_input_, reads_labels_;  ///< per graph input, per loss: something in the slot does
  std::unique_ptr<backend::Stream> stream_;       ///< null: the device reads the host's memory
  std::unique_ptr<backend::Buffer> floats_;       ///< an input as it comes, on its way to the compute type
  std::vector<Set> sets_;
  std::map<int, DeviceInput> feeds_;
};

}  // namespace dptrain::replica
