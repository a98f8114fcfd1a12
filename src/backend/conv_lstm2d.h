#pragma once

// ConvLSTM2DOp: base of the ConvLSTM2D ops of all devices. Frames are stored by step, [steps, rows, ...], so that the
// rows of a step are one batch. One convolution computes the inputs of all steps. Each step then convolves the state
// and computes the gates of an LSTM. Backward computes the gradients of both kernels in one pass over all steps. The
// convolutions are the device's Conv2D ops. Used from the replica's thread.
//
// With dropout, each gate has its own inputs or states. The convolution then has four groups, and a pixel of its input
// contains the channels of all four gates.

#include <array>
#include <memory>
#include <vector>

#include "backend/device.h"
#include "kernels/geometry.h"
#include "nn/recurrent.h"

namespace dptrain::backend {

class ConvLSTM2DOp : public Op {
 public:
  void forward(const OpArgs& a) final;
  void backward(const OpArgs& a) final;
  plan::Need need() const final;
  void prepare(std::int64_t rows) final;
  std::string implementation() const final;
  std::pair<double, double> flops_per_sample() const final;

 protected:
  ConvLSTM2DOp(const nn::ConvLSTM2DSpec& spec, const OpContext& context, Device& device);

  /// One step of all pixels of all rows.
  struct Step {
    std::int64_t pixels;         ///< in all rows
    void* gates;                 ///< in: sums of the inputs; out: activated gates
    const void* products;        ///< convolution of the state
    void* h;                     ///< out
    float *c, *cell, *squashed;  ///< c in and out; cell, squashed: copies of c and activation(c), unless null
    void* y;                     ///< copy of h, unless null
  };
  struct StepBack {
    std::int64_t pixels;
    void* gates;                     ///< in: activated gates; out: gradients of their sums
    const float *before, *squashed;  ///< before: c before the step; null: zeros
    const void* dy;                  ///< null: zeros
    float *dh, *dc;                  ///< gradients after the step; dc out: before it
  };
  struct Draw {
    float rate;
    std::uint32_t stream;
  };
  virtual void step_forward(const OpArgs& a, const Step& step) = 0;
  virtual void step_backward(const OpArgs& a, const StepBack& step) = 0;
  virtual void by_step(const OpArgs& a, const kernels::FramesShape& shape, const void* from, void* to) = 0;
  virtual void by_row(const OpArgs& a, const kernels::FramesShape& shape, const void* from, void* to) = 0;
  /// y = x [rows, positions, width] with one draw for all positions of a row; x == y allowed. `factors`: rows * width.
  virtual void drop(const OpArgs& a, const Draw& draw, const void* x, std::int64_t positions, std::int64_t width,
                    float* factors, void* y) = 0;
  virtual void copy(const OpArgs& a, const void* x, void* y, std::int64_t n) = 0;

  const nn::ConvLSTM2DSpec spec_;
  Device& device_;
  const DType type_;
  const std::uint32_t seed_;

 private:
  static constexpr std::int64_t kGates = 4;

  /// The op of a convolution, its step, and pointers of its calls.
  struct Conv {
    plan::Step step;
    std::unique_ptr<Op> op;
    std::array<const float*, 2> values{};
    std::array<const void*, 2> compute{};
    std::array<float*, 2> gradients{};
  };
  /// Parts of the op's memory for rows_ rows; null: not present.
  struct Buffers {
    void *gates, *hidden, *inputs, *d_inputs, *outputs, *products, *h, *one, *of_state, *sum, *conv;
    float *cell, *squashed, *c0, *c, *dh, *dc, *factors;
    std::uint64_t saved, scratch;
  };

  Conv conv(const OpContext& context, const nn::Conv2DSpec& spec, int input, int output, bool wants_dx,
            bool wants_weights, std::int64_t rows, int alignment = kFullAlignment);
  Buffers make_buffers(void* saved, void* scratch, bool for_backward) const;
  std::uint64_t bytes(std::int64_t elements) const { return static_cast<std::uint64_t>(elements) * size_of(type_); }
  void* at(void* from, std::int64_t element) const {
    return from == nullptr ? nullptr : static_cast<std::byte*>(from) + bytes(element);
  }
  static float* at(float* from, std::int64_t element) { return from == nullptr ? nullptr : from + element; }

  bool drops_inputs() const { return spec_.dropout > 0; }
  bool drops_state() const { return spec_.recurrent_dropout > 0; }
  std::int64_t input_groups() const { return drops_inputs() ? kGates : 1; }
  std::int64_t state_groups() const { return drops_state() ? kGates : 1; }
  Draw input_draw(std::int64_t gate) const;
  Draw state_draw(std::int64_t gate) const;
  std::int64_t time(std::int64_t s) const { return spec_.go_backwards ? steps_ - 1 - s : s; }
  kernels::FramesShape input_frames(const OpArgs& a, std::int64_t gate) const;
  kernels::FramesShape output_frames(const OpArgs& a) const;
  kernels::FramesShape state_frames(const OpArgs& a, std::int64_t gate) const;

  void order_inputs(const OpArgs& a, const Buffers& buffers);
  void put_state(const OpArgs& a, const Buffers& buffers, void* to);
  void sum_state_gradient(const OpArgs& a, const Buffers& buffers);
  void write_input_gradient(const OpArgs& a, const Buffers& buffers);
  OpArgs call_of(Conv& conv, const OpArgs& a, std::int64_t rows, std::size_t weight, void* scratch);
  void run(Conv& conv, const OpArgs& a, std::int64_t rows, const void* x, void* y, std::size_t weight, void* scratch);
  void run_back(Conv& conv, const OpArgs& a, std::int64_t rows, const void* x, void* dy, void* dx, std::size_t weight,
                void* scratch);

  const std::uint32_t stream_;
  std::int64_t rows_, steps_, frame_, channels_, pixels_, units_;
  bool has_backward_, has_states_, wants_dx_, wants_weights_;
  plan::Plan convolutions_;  ///< tensors of the convolutions
  Conv inputs_, state_, weights_;
};

/// Order of the kernels in the arena: that of the device's Conv2D.
std::vector<int> conv_lstm2d_weight_order(const Device& device, const config::Typed& layer, std::size_t weight);

}  // namespace dptrain::backend
