#pragma once

// RowTable: a trainable weight [rows, width] of which a step reads only some rows (Embedding), so that only these have
// a gradient. With momenta, an update also changes rows whose gradient is zero. These updates of a row are deferred
// until the row is read, and then applied one by one with their step numbers. Values have the same bits as after
// updates of the whole table. At most kMaxDeferred updates of a row are deferred.
//
// Belongs to one replica and its thread. The weights and slots are in the replica's arenas; call catch_up() before
// reading them there outside of a step. Lists grow to what the largest step needs.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/stream.h"
#include "plan/plan.h"

namespace dptrain::backend {

struct UpdateArgs;

struct RowTableContext {
  const plan::Plan& plan;
  const plan::Parameter& parameter;
  config::Typed optimizer;   ///< is_elementwise
  float* weights = nullptr;  ///< the parameter's place in the arenas
  std::vector<float*> slots{};
};

class RowTable {
 public:
  static constexpr std::int64_t kMaxDeferred = 1024;

  virtual ~RowTable() = default;
  /// Applies all deferred updates of these rows. Ids are in [0, rows).
  virtual void read(const std::int32_t* ids, std::int64_t count) = 0;

  /// Removes all rows from the step's gradient.
  virtual void clear() = 0;
  /// Row ids[i] of the gradient += dy[i], in the order of i.
  virtual void add(const std::int32_t* ids, std::int64_t count, const float* dy) = 0;
  /// The gradient becomes the sum of all replicas', added in rank order.
  virtual void share(Collective& collective, Stream& stream) = 0;
  virtual bool is_finite() const = 0;
  /// Clips every element to [-limit, limit].
  virtual void clip(float limit) = 0;
  /// The whole gradient [rows, width], which is kept until clear().
  virtual void write_gradient(float* gradient) const = 0;

  /// The step's update, of all rows.
  virtual void update(const UpdateArgs& args) = 0;
  /// Applies all deferred updates of all rows and their slots.
  virtual void catch_up() = 0;
  /// Call it after writing weights or slots from outside; call catch_up() before the write.
  virtual void restart() = 0;
  virtual std::size_t bytes() const = 0;
};

}  // namespace dptrain::backend
