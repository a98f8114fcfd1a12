#include "nn/merging.h"

#include "backend/columns.h"
#include "backend/device.h"
#include "kernels/cpu/pad.h"

namespace dptrain::backend::cpu {
namespace {

class ConcatenateOp final : public Op {
 public:
  ConcatenateOp(const nn::ConcatenateSpec& spec, const OpContext& context, Device&) : columns_(spec, context) {}

  void forward(const OpArgs& a) override {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < columns_.widths.size(); at += columns_.widths[i], ++i)
      kernels::cpu::copy_columns(a.in(i), columns_.widths[i], a.out() + at, columns_.total, a.rows * columns_.outer,
                                 columns_.widths[i]);
  }
  void backward(const OpArgs& a) override {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < columns_.widths.size(); at += columns_.widths[i], ++i)
      if (a.dx(i) != nullptr)
        kernels::cpu::copy_columns(a.dy() + at, columns_.total, a.dx(i), columns_.widths[i], a.rows * columns_.outer,
                                   columns_.widths[i]);
  }

 private:
  const Columns columns_;
};

const RegisteredOp kCpuConcatenate = op<nn::ConcatenateSpec, ConcatenateOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
