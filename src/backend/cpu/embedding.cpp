// Embedding and PositionEmbedding.

#include "kernels/cpu/embedding.h"
#include "backend/device.h"
#include "backend/row_table.h"
#include "core/error.h"
#include "core/format.h"
#include "kernels/cpu/elementwise.h"
#include "nn/embedding.h"

namespace dptrain::backend::cpu {
namespace {

class EmbeddingOp final : public Op {
 public:
  EmbeddingOp(const nn::EmbeddingSpec& spec, const OpContext& context, Device&)
      : words_(spec.input_dim), width_(spec.output_dim), steps_(context.input(0).elements()), masks_(spec.mask_zero) {}

  void forward(const OpArgs& a) override {
    const auto* const ids = a.in<std::int32_t>();
    const std::int64_t count = a.rows * steps_;
    check(ids, count);
    if (backend::RowTable* const table = table_of(a)) table->read(ids, count);
    kernels::cpu::gather_rows(ids, count, a.weights[0], width_, a.out());
    if (!masks_) return;
    auto* const mask = a.out<std::uint8_t>(1);
    for (std::int64_t i = 0; i < count; ++i) mask[i] = ids[i] != 0 ? 1 : 0;
  }

  void backward(const OpArgs& a) override {
    if (backend::RowTable* const table = table_of(a))
      table->add(a.in<std::int32_t>(), a.rows * steps_, a.dy());
    else if (a.weight_gradients[0] != nullptr)
      kernels::cpu::scatter_rows(a.in<std::int32_t>(), a.rows * steps_, a.dy(), words_, width_, a.weight_gradients[0]);
  }

 private:
  static backend::RowTable* table_of(const OpArgs& a) { return a.tables.empty() ? nullptr : a.tables[0]; }

  void check(const std::int32_t* ids, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i)
      if (ids[i] < 0 || ids[i] >= words_)
        throw Error(ErrorKind::kData, fmt::format("id {} in row {} of the batch, expected 0 to {}; raise input_dim",
                                                  ids[i], i / steps_, words_ - 1));
  }

  std::int64_t words_, width_, steps_;
  bool masks_;
};

class PositionEmbeddingOp final : public Op {
 public:
  PositionEmbeddingOp(const nn::PositionEmbeddingSpec& spec, const OpContext& context, Device&)
      : used_(context.output().elements()), all_(spec.sequence_length * context.output().back()) {}

  void forward(const OpArgs& a) override {
    for (std::int64_t row = 0; row < a.rows; ++row)
      kernels::cpu::copy({}, DType::kF32, a.weights[0], a.out() + row * used_, used_);
  }

  /// A sum over the rows, in their order.
  void backward(const OpArgs& a) override {
    if (float* const gradient = a.weight_gradients[0]) {
      kernels::cpu::copy({}, DType::kF32, a.dy(), gradient, used_);
      for (std::int64_t row = 1; row < a.rows; ++row) kernels::cpu::accumulate(a.dy() + row * used_, gradient, used_);
      kernels::cpu::fill(0.0F, gradient + used_, all_ - used_);
    }
    if (a.dx() != nullptr) kernels::cpu::fill(0.0F, a.dx(), a.rows * used_);
  }

 private:
  std::int64_t used_, all_;
};

const RegisteredOp kCpuEmbedding = op<nn::EmbeddingSpec, EmbeddingOp>(DeviceKind::kCpu, {.reads_rows = true});
const RegisteredOp kCpuPositionEmbedding = op<nn::PositionEmbeddingSpec, PositionEmbeddingOp>(DeviceKind::kCpu);

}  // namespace
}  // namespace dptrain::backend::cpu
