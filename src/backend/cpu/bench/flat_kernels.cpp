#include "backend/cpu/bench/suite.h"
#include "kernels/cpu/activation.h"
#include "kernels/cpu/adam.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/prelu.h"
#include "kernels/cpu/reduce.h"

namespace dptrain::backend::cpu {
namespace {

namespace k = kernels::cpu;
using k::Activation;

constexpr std::int64_t kFlat = std::int64_t{1} << 23;  // 32 MiB: more than a core's caches
constexpr std::int64_t kFlatChannels = 64;

/// `arrays`: how many arrays of kFlat floats are read or written.
void flat(Suite& suite, const std::string& name, double arrays, std::function<void(Arrays&)> run) {
  add(suite, name, arrays * sizeof(float) * static_cast<double>(kFlat), 0, std::move(run));
}

void add_activations(Suite& suite) {
  for (const kernels::ActivationTraits& row : kernels::kActivations) {
    if (row.over_rows || row.kind == Activation::kLinear) continue;
    const std::string name = std::string("activation/") + row.name;
    flat(suite, name + "/forward", 2, [kind = row.kind](Arrays& r) {
      k::activation_forward({}, DType::kF32, kind, 0.3F, r.floats(0, kFlat), r.floats(1, kFlat), kFlat);
    });
    flat(suite, name + "/backward", 3, [kind = row.kind](Arrays& r) {
      const auto gradient =
          has_gradient_from_output(kind) ? k::activation_backward_from_output : k::activation_backward_from_input;
      gradient({}, DType::kF32, kind, 0.3F, r.floats(0, kFlat), r.floats(1, kFlat), r.floats(2, kFlat), kFlat);
    });
  }
  const k::ReluLayer layer{.max_value = 6, .negative_slope = 0.1F, .threshold = 0.2F};
  flat(suite, "activation/relu_layer/forward", 2, [=](Arrays& r) {
    k::relu_layer_forward({}, DType::kF32, layer, r.floats(0, kFlat), r.floats(1, kFlat), kFlat);
  });
  flat(suite, "activation/relu_layer/backward", 3, [=](Arrays& r) {
    k::relu_layer_backward({}, DType::kF32, layer, r.floats(0, kFlat), r.floats(1, kFlat), r.floats(2, kFlat), kFlat);
  });
  for (const std::int64_t channels : {std::int64_t{3}, kFlatChannels}) {
    const std::int64_t positions = kFlat / channels;
    const std::string name = "activation/prelu" + std::to_string(channels);
    flat(suite, name + "/forward", 2, [=](Arrays& r) {
      k::prelu_forward(r.floats(0, kFlat), r.floats(3, channels), positions, channels, r.floats(1, kFlat));
    });
    flat(suite, name + "/backward", 3, [=](Arrays& r) {
      k::prelu_input_gradient(r.floats(0, kFlat), r.floats(1, kFlat), r.floats(3, channels), positions, channels,
                              r.floats(2, kFlat));
    });
    flat(suite, name + "/weights", 2, [=](Arrays& r) {
      k::prelu_alpha_gradient(r.floats(0, kFlat), r.floats(1, kFlat), positions, channels, r.zeros<float>(2, channels));
    });
  }
}

void add_elementwise(Suite& suite) {
  flat(suite, "elementwise/fill", 1, [](Arrays& r) { k::fill(1.0F, r.floats(0, kFlat), kFlat); });
  flat(suite, "elementwise/copy", 2,
       [](Arrays& r) { k::copy({}, DType::kF32, r.floats(0, kFlat), r.floats(1, kFlat), kFlat); });
  flat(suite, "elementwise/scale_offset", 2,
       [](Arrays& r) { k::scale_offset(r.floats(0, kFlat), 2.0F, 1.0F, r.floats(1, kFlat), kFlat); });
  flat(suite, "elementwise/u8_to_f32", 1.25,
       [](Arrays& r) { k::u8_to_f32(r.zeros<std::uint8_t>(0, kFlat), 1.0F / 255, 0.0F, r.floats(1, kFlat), kFlat); });
  constexpr std::pair<const char*, void (*)(const float*, const float*, float*, std::int64_t)> kBinary[] = {
      {"add", k::add},
      {"multiply", k::multiply},
      {"subtract", k::subtract},
      {"maximum", k::maximum},
      {"minimum", k::minimum}};
  for (const auto& [word, pass] : kBinary)
    flat(suite, std::string("elementwise/") + word, 3,
         [pass = pass](Arrays& r) { pass(r.floats(0, kFlat), r.floats(1, kFlat), r.floats(2, kFlat), kFlat); });
  flat(suite, "elementwise/add_relu", 3,
       [](Arrays& r) { k::add_relu(r.floats(0, kFlat), r.floats(1, kFlat), r.floats(2, kFlat), kFlat); });
  flat(suite, "elementwise/add_relu_backward", 4, [](Arrays& r) {
    k::add_relu_backward(r.floats(0, kFlat), r.floats(1, kFlat), r.floats(2, kFlat), r.floats(3, kFlat), kFlat);
  });
  flat(suite, "elementwise/bias_add", 2, [](Arrays& r) {
    k::bias_add(r.floats(0, kFlat), r.floats(2, kFlatChannels), kFlat / kFlatChannels, kFlatChannels,
                r.floats(1, kFlat));
  });
}

void add_reductions(Suite& suite) {
  flat(suite, "reduce/accumulate", 3,
       [](Arrays& r) { k::accumulate(r.floats(0, kFlat), r.zeros<float>(1, kFlat), kFlat); });
  for (const int ranks : {2, 4})
    flat(suite, "reduce/sum_ranks" + std::to_string(ranks), 2 * ranks, [ranks](Arrays& r) {
      float* arrays[4] = {};
      for (int i = 0; i < ranks; ++i) arrays[i] = r.zeros<float>(i, kFlat);
      k::sum_ranks(arrays, ranks, 0, kFlat);
    });
  flat(suite, "reduce/bias_gradient", 1, [](Arrays& r) {
    constexpr std::int64_t kRows = kFlat / kFlatChannels;
    k::bias_gradient(r.floats(0, kFlat), kRows, kFlatChannels,
                     r.floats(1, k::bias_gradient_workspace(kRows, kFlatChannels)), r.floats(2, kFlatChannels));
  });
  flat(suite, "reduce/sum_of_squares", 1,
       [](Arrays& r) { *r.zeros<double>(1, 1) = k::sum_of_squares(r.floats(0, kFlat), kFlat); });
  flat(suite, "reduce/all_finite", 1,
       [](Arrays& r) { *r.zeros<bool>(1, 1) = k::all_finite(r.floats(0, kFlat), kFlat); });
  flat(suite, "reduce/l1l2_value", 1,
       [](Arrays& r) { *r.zeros<double>(1, 1) = k::l1l2_value(r.floats(0, kFlat), kFlat, 1e-4F, 1e-4F); });
}

void add_optimizers(Suite& suite) {
  // Rates so small that a benchmark's many steps from one gradient keep weights finite and normal.
  flat(suite, "optimizer/sgd", 3, [](Arrays& r) {
    k::sgd_update({}, {}, {.learning_rate = 1e-6}, r.floats(0, kFlat), kFlat, r.floats(1, kFlat), nullptr);
  });
  for (const bool nesterov : {false, true})
    flat(suite, nesterov ? "optimizer/sgd_nesterov" : "optimizer/sgd_momentum", 5, [nesterov](Arrays& r) {
      k::sgd_update({}, {.momentum = 0.9, .nesterov = nesterov}, {.learning_rate = 1e-6}, r.floats(0, kFlat), kFlat,
                    r.floats(1, kFlat), r.floats(2, kFlat));
    });
  for (const bool amsgrad : {false, true})
    flat(suite, amsgrad ? "optimizer/amsgrad" : "optimizer/adam", amsgrad ? 9 : 7, [amsgrad](Arrays& r) {
      k::adam_update({}, {}, {.learning_rate = 1e-6}, r.floats(0, kFlat), kFlat, r.floats(1, kFlat),
                     r.zeros<float>(2, kFlat), r.zeros<float>(3, kFlat), amsgrad ? r.zeros<float>(4, kFlat) : nullptr);
    });
  const auto with_one_slot = [&](const char* name, auto update) {
    flat(suite, name, 5, [update](Arrays& r) {
      update({}, {}, {.learning_rate = 1e-6}, r.floats(0, kFlat), kFlat, r.floats(1, kFlat), r.zeros<float>(2, kFlat));
    });
  };
  const auto with_two_slots = [&](const char* name, auto update) {
    flat(suite, name, 7, [update](Arrays& r) {
      update({}, {}, {.learning_rate = 1e-6}, r.floats(0, kFlat), kFlat, r.floats(1, kFlat), r.zeros<float>(2, kFlat),
             r.zeros<float>(3, kFlat));
    });
  };
  with_two_slots("optimizer/nadam", &k::nadam_update);
  with_two_slots("optimizer/adamax", &k::adamax_update);
  // lamb: 4 arrays read and written, 2 read for the norms, 2 read and 1 written for the move.
  flat(suite, "optimizer/lamb", 13, [](Arrays& r) {
    k::lamb_step({}, {.learning_rate = 1e-6}, r.floats(0, kFlat), kFlat, r.floats(1, kFlat), r.zeros<float>(2, kFlat),
                 r.zeros<float>(3, kFlat));
    k::lamb_update(1e-6, r.floats(0, kFlat), kFlat, r.floats(1, kFlat));
  });
  with_two_slots("optimizer/adadelta", &k::adadelta_update);
  with_one_slot("optimizer/lion", &k::lion_update);
  flat(suite, "optimizer/rmsprop", 5, [](Arrays& r) {
    k::rmsprop_update({}, {}, {.learning_rate = 1e-6}, r.floats(0, kFlat), kFlat, r.floats(1, kFlat),
                      r.zeros<float>(2, kFlat), nullptr, nullptr);
  });
  with_one_slot("optimizer/adagrad", &k::adagrad_update);
  flat(suite, "optimizer/ema", 3,
       [](Arrays& r) { k::ema_update(0.99, r.floats(0, kFlat), kFlat, r.floats(1, kFlat)); });
  flat(suite, "optimizer/clip_by_value", 2, [](Arrays& r) { k::clip_by_value(0.5F, kFlat, r.floats(0, kFlat)); });
  flat(suite, "optimizer/scale", 2, [](Arrays& r) { k::scale(1.0F, kFlat, r.floats(0, kFlat)); });
  flat(suite, "optimizer/add_l1l2_gradient", 3,
       [](Arrays& r) { k::add_l1l2_gradient(r.floats(0, kFlat), kFlat, 1e-4F, 1e-4F, 1e-6F, r.floats(1, kFlat)); });
}

}  // namespace

void add_flat_kernels(Suite& suite) {
  add_activations(suite);
  add_elementwise(suite);
  add_reductions(suite);
  add_optimizers(suite);
}

}  // namespace dptrain::backend::cpu
