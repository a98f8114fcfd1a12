#pragma once

// RowTable: a trainable weight [rows, width] of which a step reads some rows alone (an Embedding's), and so has a
// gradient of these alone. The update changes all rows: with momenta, also those whose gradient is zero. A row's
// updates with a zero gradient are put off until somebody reads it and then made up one by one, with the numbers of
// their steps, so every value read is the one that updates of the whole table would have left, bit for bit; what
// differs is the order of the work. No row is ever more than kMostBehind updates behind.
//
// One replica's, on its thread. The weights and slots themselves are in the replica's arenas; outside of a step nobody
// reads them there before catch_up(). Lists grow to what the largest step needs.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/collective.h"
#include "nn/optimizer.h"
#include "plan/plan.h"

namespace dptrain::backend {

struct RowTableContext {
  const plan::Plan& plan;
  const plan::Parameter& parameter;
  config::Typed optimizer;   ///< updates_by_element
  float* weights = nullptr;  ///< the parameter's place in the arenas
  std::vector<float*> slots{};
};

class RowTable {
 public:
  static constexpr std::int64_t kMostBehind = 1024;

  virtual ~RowTable() = default;
  /// These rows hold what all updates so far have made of them. Ids are in [0, rows).
  virtual void read(const std::int32_t* ids, std::int64_t count) = 0;

  /// The step's gradient has no rows.
  virtual void clear() = 0;
  /// Row ids[i] of the gradient += dy[i], in the order of i.
  virtual void add(const std::int32_t* ids, std::int64_t count, const float* dy) = 0;
  /// The gradient becomes the sum of all replicas', added in rank order.
  virtual void share(Collective& collective, Stream& stream) = 0;
  virtual bool is_finite() const = 0;
  /// Every element into [-limit, limit].
  virtual void clip(float limit) = 0;
  /// The whole gradient [rows, width], which is kept until clear().
  virtual void write_gradient(float* gradient) const = 0;

  /// The step's update, of all rows.
  virtual void update(const nn::UpdateArgs& args) = 0;
  /// All rows and their slots hold what all updates have made of them.
  virtual void catch_up() = 0;
  /// Weights or slots have been written from outside, behind a catch_up().
  virtual void restart() = 0;
  virtual std::size_t bytes() const = 0;
};

}  // namespace dptrain::backend
