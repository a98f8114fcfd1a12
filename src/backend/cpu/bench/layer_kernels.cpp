#include <algorithm>

#include "backend/cpu/bench/suite.h"
#include "kernels/cpu/batch_norm.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/group_norm.h"
#include "kernels/cpu/loss.h"
#include "kernels/cpu/lrn.h"
#include "kernels/cpu/noise.h"
#include "kernels/cpu/softmax.h"
#include "kernels/losses.h"

namespace dptrain::backend::cpu {
namespace {

namespace k = kernels::cpu;

double floats(double arrays, std::int64_t n) { return arrays * sizeof(float) * static_cast<double>(n); }

void add_batch_norm(Suite& suite, std::int64_t positions, std::int64_t channels) {
  const std::int64_t n = positions * channels;
  const std::string name = "batch_norm/" + std::to_string(positions) + "x" + std::to_string(channels);
  add(suite, name + "/sums", floats(1, n), 0, [=](Arrays& r) {
    k::batch_norm_sums(r.floats(0, n), positions, channels,
                       r.zeros<double>(1, k::batch_norm_workspace(positions, channels)), r.zeros<double>(2, channels),
                       r.zeros<double>(3, channels));
  });
  for (const bool relu : {false, true})
    add(suite, name + (relu ? "/apply_relu" : "/apply"), floats(2, n), 0, [=](Arrays& r) {
      k::batch_norm_apply(r.floats(0, n),
                          {.scale = r.floats(2, channels), .offset = r.floats(3, channels), .relu = relu}, positions,
                          channels, r.floats(1, n));
    });
  for (const bool relu : {false, true}) {
    const auto gradient = [=](Arrays& r) {
      return k::BatchNormGradient{r.floats(0, n), r.floats(1, n), relu ? r.floats(2, n) : nullptr,
                                  r.floats(4, channels), r.floats(5, channels)};
    };
    add(suite, name + (relu ? "/gradient_sums_relu" : "/gradient_sums"), floats(relu ? 3 : 2, n), 0, [=](Arrays& r) {
      k::batch_norm_gradient_sums(gradient(r), positions, channels,
                                  r.zeros<double>(6, k::batch_norm_workspace(positions, channels)),
                                  r.zeros<double>(7, channels), r.zeros<double>(8, channels));
    });
    add(suite, name + (relu ? "/gradient_apply_relu" : "/gradient_apply"), floats(relu ? 4 : 3, n), 0, [=](Arrays& r) {
      k::batch_norm_gradient_apply(gradient(r), r.floats(9, channels), r.floats(10, channels), r.floats(11, channels),
                                   positions, positions, channels, r.floats(3, n));
    });
  }
}

void add_group_norm(Suite& suite, const std::string& name, const kernels::GroupNorm& norm, std::int64_t rows) {
  const std::int64_t n = rows * norm.spatial * norm.channels;
  add(suite, name + "/forward", floats(2, n), 0, [=](Arrays& r) {
    k::group_norm_forward(norm, r.floats(0, n), r.floats(2, norm.channels), r.floats(3, norm.channels), rows,
                          r.floats(4, k::group_norm_workspace(norm, rows)), r.floats(1, n),
                          r.floats(5, rows * norm.groups), r.floats(6, rows * norm.groups));
  });
  add(suite, name + "/backward", floats(3, n), 0, [=](Arrays& r) {
    k::group_norm_backward(norm,
                           {r.floats(0, n), r.floats(1, n), r.floats(3, norm.channels), r.floats(4, rows * norm.groups),
                            r.floats(5, rows * norm.groups)},
                           rows, r.floats(6, k::group_norm_workspace(norm, rows)), r.floats(2, n),
                           r.floats(7, norm.channels), r.floats(8, norm.channels));
  });
}

void add_softmax(Suite& suite, std::int64_t rows, std::int64_t classes) {
  const std::int64_t n = rows * classes;
  const std::string name = "softmax/" + std::to_string(rows) + "x" + std::to_string(classes);
  add(suite, name + "/forward", floats(2, n), 0,
      [=](Arrays& r) { k::softmax_forward({}, DType::kF32, r.floats(0, n), rows, classes, r.floats(1, n)); });
  add(suite, name + "/backward", floats(3, n), 0, [=](Arrays& r) {
    k::softmax_backward({}, DType::kF32, r.floats(0, n), r.floats(1, n), rows, classes, r.floats(2, n));
  });
  add(suite, name + "/cross_entropy", floats(2, n), 0, [=](Arrays& r) {
    k::softmax_cross_entropy(
        {}, DType::kF32, r.floats(0, n), rows, classes, {.labels = r.zeros<std::int32_t>(2, rows)},
        {.loss = r.floats(3, rows), .gradient = r.floats(1, n), .hit = r.zeros<std::uint8_t>(4, rows)});
  });
}

/// CIFAR-10 towers, batch 128.
void add_lrn(Suite& suite) {
  constexpr std::int64_t kPixels = 128 * 24 * 24, kChannels = 64, kN = kPixels * kChannels;
  const k::Lrn lrn{.radius = 4, .bias = 1.0F, .alpha = 0.001F / 9, .beta = 0.75F};
  const std::int64_t workspace = k::lrn_workspace(lrn, kPixels, kChannels);
  add(suite, "lrn/forward", floats(3, kN), 0, [=](Arrays& r) {
    k::lrn_forward(lrn, r.floats(0, kN), kPixels, kChannels, r.floats(3, workspace), r.floats(1, kN), r.floats(2, kN));
  });
  add(suite, "lrn/backward", floats(4, kN), 0, [=](Arrays& r) {
    float* const scale = r.zeros<float>(1, kN);
    if (scale[0] == 0) std::fill_n(scale, kN, 1.5F);
    k::lrn_backward(lrn, r.floats(0, kN), scale, r.floats(2, kN), kPixels, kChannels, r.floats(4, workspace),
                    r.floats(3, kN));
  });
}

void add_random(Suite& suite) {
  constexpr std::int64_t kRows = 512, kWidth = 16384, kN = kRows * kWidth, kChannels = 64;
  const k::Dropout dropout{.rate = 0.4F, .seed = 1, .layer = 2, .step = 3, .first_row = 0};
  add(suite, "dropout/forward", floats(2, kN), 0, [=](Arrays& r) {
    k::dropout_forward({}, DType::kF32, dropout, r.floats(0, kN), kRows, kWidth, r.floats(1, kN));
  });
  add(suite, "dropout/backward", floats(2, kN), 0, [=](Arrays& r) {
    k::dropout_backward({}, DType::kF32, dropout, r.floats(0, kN), kRows, kWidth, r.floats(1, kN));
  });
  add(suite, "dropout/spatial", floats(2, kN), 0, [=](Arrays& r) {
    k::spatial_dropout({}, DType::kF32, dropout, r.floats(0, kN), kRows, kWidth / kChannels, kChannels,
                       r.floats(2, kRows * kChannels), r.floats(1, kN));
  });
  add(suite, "noise/normal", floats(2, kN), 0, [](Arrays& r) {
    k::add_noise({}, DType::kF32, {.stddev = 0.1F, .seed = 1, .layer = 2, .step = 3, .first_row = 0}, r.floats(0, kN),
                 kRows, kWidth, r.floats(1, kN));
  });
}

void add_losses(Suite& suite) {
  constexpr std::int64_t kRows = 4096, kWidth = 512, kN = kRows * kWidth;
  const auto add_loss = [&](const char* name, const auto& loss, float* (*labels)(Arrays&)) {
    add(suite, std::string("loss/") + name, floats(3, kN), 0, [=](Arrays& r) {
      k::element_loss({}, DType::kF32,
                      {r.floats(0, kN), kRows, kWidth, {.dense = labels(r)}, {r.floats(3, kRows), r.floats(2, kN)}},
                      loss);
    });
  };
  const auto any = [](Arrays& r) { return r.floats(1, kN); };
  const auto zeros = [](Arrays& r) { return r.zeros<float>(1, kN); };
  add_loss("mean_squared_error", kernels::losses::MeanSquaredError{}, any);
  add_loss("mean_absolute_error", kernels::losses::MeanAbsoluteError{}, any);
  add_loss("binary_cross_entropy_from_logits", kernels::losses::BinaryCrossentropyFromLogits{{0.0}}, zeros);
}

}  // namespace

void add_layer_kernels(Suite& suite) {
  add_batch_norm(suite, 16 * 112 * 112, 64);
  add_batch_norm(suite, 16 * 56 * 56, 256);
  add_batch_norm(suite, 32 * 7 * 7, 2048);
  add_group_norm(suite, "group_norm", {.spatial = 28 * 28, .channels = 256, .groups = 32, .epsilon = 1e-3F}, 32);
  add_group_norm(suite, "layer_norm", {.spatial = 1, .channels = 512, .groups = 1, .epsilon = 1e-3F}, 8192);
  add_softmax(suite, 512, 10);
  add_softmax(suite, 512, 1000);
  add_lrn(suite);
  add_random(suite);
  add_losses(suite);
}

}  // namespace dptrain::backend::cpu
