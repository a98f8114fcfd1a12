#include "nn/gru.h"

namespace dptrain::nn {
namespace {

const RecurrentCell& gru_cell() {
  static const RecurrentCell cell{.name = "gru_cell", .gates = 3, .states = {"state_h"}};
  return cell;
}

std::vector<WeightDef> gru_weights(const GRUSpec& spec, std::span<const Shape> in) {
  return recurrent_weights(gru_cell(), spec, in, spec.reset_after ? Shape{2, 3 * spec.units} : Shape{3 * spec.units});
}

LayerBuilder<GRUSpec> gru() {
  LayerBuilder<GRUSpec> builder = layer<GRUSpec>("GRU");
  add_recurrent<GRUSpec>(
      builder, 1, [](auto& b) { add_key(b, "recurrent_activation", &GRUSpec::recurrent_activation); }, [](auto&) {},
      [](auto& b) { add_key(b, "reset_after", &GRUSpec::reset_after); });
  std::move(builder)
      .outputs(
          [](const GRUSpec& spec, std::span<const TensorDef> in) { return recurrent_outputs(gru_cell(), spec, in); })
      .weights(gru_weights);
  return builder;
}

const Registered kGru = gru();

}  // namespace
}  // namespace dptrain::nn
