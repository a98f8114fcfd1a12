#include "backend/cpu/bench/suite.h"
#include "core/format.h"
#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/pad.h"
#include "kernels/cpu/pool.h"

namespace dptrain::backend::cpu {
namespace {

namespace k = kernels::cpu;

double floats(std::int64_t n) { return static_cast<double>(sizeof(float)) * static_cast<double>(n); }

/// Windows of `kernel` x `kernel` pixels of a square image, 2 apart, without padding.
void add_pooling(Suite& suite, std::int64_t size, std::int64_t channels, std::int64_t kernel, std::int64_t rows) {
  const k::PoolWindow w{.in_h = size,
                        .in_w = size,
                        .channels = channels,
                        .out_h = size / 2,
                        .out_w = size / 2,
                        .kernel_h = kernel,
                        .kernel_w = kernel,
                        .stride_h = 2,
                        .stride_w = 2,
                        .pad_top = 0,
                        .pad_left = 0};
  const std::int64_t in = rows * w.in_h * w.in_w * w.channels, out = rows * w.out_h * w.out_w * w.channels;
  const std::string what =
      fmt::format("{}x{}s{}/{}x{}x{}", w.kernel_h, w.kernel_w, w.stride_h, w.in_h, w.in_w, w.channels);
  const double bytes = floats(in + out), with_places = bytes + static_cast<double>(out);
  add(suite, "pool/max" + what + "/forward", with_places, 0, [=](Arrays& r) {
    k::max_pool_forward({}, DType::kF32, w, r.floats(0, in), rows, r.floats(1, out), r.zeros<std::uint8_t>(2, out));
  });
  add(suite, "pool/max" + what + "/backward", with_places, 0, [=](Arrays& r) {
    k::max_pool_backward({}, DType::kF32, w, r.floats(0, out), r.zeros<std::uint8_t>(1, out), nullptr, rows,
                         r.floats(2, in));
  });
  add(suite, "pool/max" + what + "/backward_relu", with_places + floats(out), 0, [=](Arrays& r) {
    k::max_pool_backward({}, DType::kF32, w, r.floats(0, out), r.zeros<std::uint8_t>(1, out), r.floats(3, out), rows,
                         r.floats(2, in));
  });
  add(suite, "pool/avg" + what + "/forward", bytes, 0,
      [=](Arrays& r) { k::avg_pool_forward({}, DType::kF32, w, r.floats(0, in), rows, r.floats(1, out)); });
  add(suite, "pool/avg" + what + "/backward", bytes, 0,
      [=](Arrays& r) { k::avg_pool_backward({}, DType::kF32, w, r.floats(0, out), rows, r.floats(1, in)); });
}

void add_global_pooling(Suite& suite) {
  constexpr std::int64_t kRows = 32, kSpatial = 49, kChannels = 2048, kIn = kRows * kSpatial * kChannels,
                         kOut = kRows * kChannels;
  add(suite, "pool/global_avg/forward", floats(kIn + kOut), 0, [](Arrays& r) {
    k::global_avg_forward({}, DType::kF32, r.floats(0, kIn), kRows, kSpatial, kChannels, r.floats(1, kOut));
  });
  add(suite, "pool/global_avg/backward", floats(kIn + kOut), 0, [](Arrays& r) {
    k::global_avg_backward({}, DType::kF32, r.floats(0, kOut), kRows, kSpatial, kChannels, r.floats(1, kIn));
  });
  add(suite, "pool/global_max/forward", floats(kIn + 2 * kOut), 0, [](Arrays& r) {
    k::global_max_forward({}, DType::kF32, r.floats(0, kIn), kRows, kSpatial, kChannels, r.floats(1, kOut),
                          r.zeros<std::int32_t>(2, kOut));
  });
  add(suite, "pool/global_max/backward", floats(kIn + 2 * kOut), 0, [](Arrays& r) {
    k::global_max_backward({}, DType::kF32, r.floats(0, kOut), r.zeros<std::int32_t>(1, kOut), kRows, kSpatial,
                           kChannels, r.floats(2, kIn));
  });
}

/// "same" padding of a square image.
void add_depthwise(Suite& suite, std::int64_t size, std::int64_t channels, std::int64_t kernel, std::int64_t stride) {
  constexpr std::int64_t kRows = 16;
  const std::int64_t out_size = (size + stride - 1) / stride, pad = (kernel - stride) / 2;
  const kernels::DepthwiseShape s{.in_h = size,
                                  .in_w = size,
                                  .channels = channels,
                                  .multiplier = 1,
                                  .out_h = out_size,
                                  .out_w = out_size,
                                  .kernel_h = kernel,
                                  .kernel_w = kernel,
                                  .stride_h = stride,
                                  .stride_w = stride,
                                  .dilation_h = 1,
                                  .dilation_w = 1,
                                  .pad_top = pad,
                                  .pad_left = pad};
  const std::int64_t in = kRows * size * size * channels, out = kRows * out_size * out_size * channels;
  const double flops = 2.0 * static_cast<double>(out * kernel * kernel), bytes = floats(in + out);
  const std::string name =
      fmt::format("depthwise/{0}x{0}x{1}/{2}x{2}{3}", size, channels, kernel, stride > 1 ? "s2" : "");
  add(suite, name + "/forward", bytes, flops, [=](Arrays& r) {
    k::depthwise_forward(s, r.floats(0, in), r.floats(2, s.weights()), nullptr, false, kRows, r.floats(1, out));
  });
  add(suite, name + "/data", bytes, flops, [=](Arrays& r) {
    k::depthwise_backward_data(s, r.floats(0, out), r.floats(2, s.weights()), kRows, r.floats(1, in));
  });
  add(suite, name + "/weights", bytes, flops, [=](Arrays& r) {
    k::depthwise_backward_weights(s, r.floats(0, in), r.floats(1, out), kRows,
                                  r.floats(2, k::depthwise_workspace(s, kRows)), r.floats(3, s.weights()));
  });
}

void add_padding(Suite& suite) {
  constexpr std::int64_t kRows = 16, kSize = 112, kChannels = 64, kIn = kRows * kSize * kSize * kChannels;
  constexpr std::int64_t kOut = kRows * (kSize + 2) * (kSize + 2) * kChannels;
  const k::Padding padding{
      .in_h = kSize, .in_w = kSize, .channels = kChannels, .top = 1, .bottom = 1, .left = 1, .right = 1};
  add(suite, "pad/zero/forward", floats(kIn + kOut), 0,
      [=](Arrays& r) { k::zero_pad_forward({}, DType::kF32, padding, r.floats(0, kIn), kRows, r.floats(1, kOut)); });
  add(suite, "pad/zero/backward", floats(2 * kIn), 0,
      [=](Arrays& r) { k::zero_pad_backward({}, DType::kF32, padding, r.floats(0, kOut), kRows, r.floats(1, kIn)); });
  const k::ZeroInsertion spreading{kSize, kSize, kChannels, 2, 2, 2 * kSize, 2 * kSize};
  add(suite, "pad/spread2x2", floats(5 * kIn), 0,
      [=](Arrays& r) { k::insert_zero_pixels(spreading, r.floats(0, kIn), kRows, r.floats(1, 4 * kIn)); });
  add(suite, "pad/copy_columns", floats(2 * kIn), 0, [](Arrays& r) {
    k::copy_columns({}, DType::kF32, r.floats(0, kIn), kChannels, r.floats(1, 2 * kIn), 2 * kChannels, kIn / kChannels,
                    kChannels);
  });
}

}  // namespace

void add_window_kernels(Suite& suite) {
  add_pooling(suite, 26, 32, 2, 256);
  add_pooling(suite, 112, 64, 3, 16);
  add_global_pooling(suite);
  for (const std::int64_t stride : {1, 2}) {
    add_depthwise(suite, 56, 128, 3, stride);
    add_depthwise(suite, 14, 512, 3, stride);
    add_depthwise(suite, 28, 240, 5, stride);
  }
  add_padding(suite);
}

}  // namespace dptrain::backend::cpu
