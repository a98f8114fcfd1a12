#include "plan/weight_order.h"

#include <algorithm>
#include <vector>

#include "nn/layer.h"
#include "plan/stages.h"

namespace dptrain::plan {
namespace {

/// Calls f(index in the arena, index in Keras's array) for every element, in the arena's order.
template <class F>
void for_each_place(const Parameter& p, const F& f) {
  const int rank = p.shape.rank();
  std::vector<std::int64_t> keras_stride(at(rank), 1), extent, stride, index(at(rank), 0);
  for (int axis = rank - 2; axis >= 0; --axis) keras_stride[at(axis)] = keras_stride[at(axis + 1)] * p.shape[axis + 1];
  for (const int axis : p.order) {
    extent.push_back(p.shape[axis]);
    stride.push_back(keras_stride[at(axis)]);
  }
  std::int64_t keras = 0;
  for (std::int64_t arena = 0; arena < p.elements(); ++arena) {
    f(arena, keras);
    for (int axis = rank - 1; axis >= 0; --axis) {
      keras += stride[at(axis)];
      if (++index[at(axis)] < extent[at(axis)]) break;
      keras -= extent[at(axis)] * stride[at(axis)];
      index[at(axis)] = 0;
    }
  }
}

}  // namespace

std::vector<int> weight_order(const Capabilities& device, const config::Typed& layer, std::size_t weight) {
  const config::Typed inner = nn::applied(layer).first;
  std::vector<int> order = device.weight_order(nn::computed_as(inner), weight);
  if (order.empty() || !nn::type_of(inner).computed_as) return order;
  std::erase(order, 0);  // the height, which only the weight of the layer over images has
  for (int& axis : order) --axis;
  return order;
}

void to_arena_order(const Parameter& p, const float* keras, float* arena) {
  if (p.order.empty())
    std::copy_n(keras, p.elements(), arena);
  else
    for_each_place(p, [&](std::int64_t a, std::int64_t k) { arena[a] = keras[k]; });
}

void to_keras_order(const Parameter& p, const float* arena, float* keras) {
  if (p.order.empty())
    std::copy_n(arena, p.elements(), keras);
  else
    for_each_place(p, [&](std::int64_t a, std::int64_t k) { keras[k] = arena[a]; });
}

}  // namespace dptrain::plan
