#include "nn/reshaping.h"

#include "backend/cpu/cpu_device.h"
#include "backend/cpu/dnnl_support.h"
#include "backend/cpu/row_count_cache.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {
namespace {

/// oneDNN's reorders for one number of rows.
struct Moves {
  dnnl::memory source, target;
  dnnl::reorder forward, backward;

  static std::size_t scratch() { return 0; }
};

Desc strided(const Dims& dims, const Dims& strides) { return {dims, dnnl::memory::data_type::f32, strides}; }

class PermuteOp final : public Op {
 public:
  PermuteOp(const nn::PermuteSpec& spec, const OpContext& context, Device& device)
      : dnnl_(static_cast<CpuDevice&>(device).dnnl()), axes_(spec.dims.dims()), in_(context.input(0)) {}

  void prepare(std::int64_t rows) override { moves_.prepare(rows); }

  void forward(const OpArgs& a) override {
    Moves& moves = moves_.at(a.rows);
    move(moves.forward, moves.source, a.in(), moves.target, a.out());
  }
  void backward(const OpArgs& a) override {
    Moves& moves = moves_.at(a.rows);
    move(moves.backward, moves.target, a.dy(), moves.source, a.dx());
  }

 private:
  /// Describes both tensors with the axes of the output; the strides of the input are permuted.
  Moves make(std::int64_t rows) const try {
    const auto rank = axes_.size();
    std::vector<std::int64_t> in_strides(rank, 1);
    for (std::size_t d = rank - 1; d > 0; --d) in_strides[d - 1] = in_strides[d] * in_.dims()[d];
    Dims dims{rows}, from{in_.elements()}, to{in_.elements()};
    std::int64_t rest = in_.elements();
    for (const std::int64_t axis : axes_) {
      const auto at = static_cast<std::size_t>(axis - 1);
      dims.push_back(in_.dims()[at]);
      from.push_back(in_strides[at]);
      to.push_back(rest /= in_.dims()[at]);
    }
    Moves moves{.source = {strided(dims, from), dnnl_.engine, DNNL_MEMORY_NONE},
                .target = {strided(dims, to), dnnl_.engine, DNNL_MEMORY_NONE},
                .forward = {},
                .backward = {}};
    moves.forward = dnnl::reorder(moves.source, moves.target);
    moves.backward = dnnl::reorder(moves.target, moves.source);
    return moves;
  } catch (const dnnl::error& error) {
    throw device_error("Permute", error);
  }

  void move(dnnl::reorder& reorder, dnnl::memory& from, const float* x, dnnl::memory& to, float* y) const try {
    from.set_data_handle(const_cast<float*>(x));  // oneDNN takes no const
    to.set_data_handle(y);
    reorder.execute(dnnl_.stream, from, to);
    dnnl_.stream.wait();
  } catch (const dnnl::error& error) {
    throw device_error("Permute", error);
  }

  Dnnl& dnnl_;
  std::vector<std::int64_t> axes_;  // counted from 1
  Shape in_;
  RowCountCache<Moves> moves_{[this](std::int64_t rows) { return make(rows); }};
};

const RegisteredOp kCpuPermute = op<nn::PermuteSpec, PermuteOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
