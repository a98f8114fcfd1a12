#include "runtime/lifetime_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/arenas.h"
#include "runtime/replica.h"
#include "runtime/small_net.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kMostRows = 7, kFewRows = 3;

bool is_poisoned([[maybe_unused]] const std::byte* byte) {
#ifdef __SANITIZE_ADDRESS__
  return __asan_address_is_poisoned(byte) != 0;
#else
  return false;
#endif
}

/// The training memory of the small net on a device, without its ops.
struct CheckedArena {
  explicit CheckedArena(const std::string& device_name)
      : model(model_of(kSmallNet)), device(device_of(device_name, 0)), plan(small_plan(model, *device)) {
    for (std::size_t s = 0; s < plan.steps.size(); ++s)
      needs.push_back({.saved = 100 + 77 * s, .scratch = 333 - 11 * s});
    memory = plan::plan_memory(plan, needs, {}, kMostRows, plan::Mode::kTraining);
    device->enter();
    stream = device->make_stream();
    buffer = device->allocate(memory.arena_bytes);
    check.emplace(plan, *device, *stream, 0);
    check->add(plan::Mode::kTraining, memory, needs, {}, {}, arena());
    check->begin(plan::Mode::kTraining, kFewRows);
  }
  std::byte* arena() const { return buffer->as<std::byte>(); }
  const void* output(std::size_t step) const {
    return arena() + memory.tensor_offset[static_cast<std::size_t>(plan.steps[step].output())];
  }
  void copy_output(std::size_t step) {
    float value = 0;
    device->copy_to_host(&value, output(step), sizeof value, *stream);
  }

  graph::Model model;
  std::unique_ptr<backend::Device> device;
  plan::Plan plan;
  std::vector<plan::Need> needs;
  plan::MemoryPlan memory;
  std::unique_ptr<backend::Stream> stream;
  std::unique_ptr<backend::Buffer> buffer;
  std::optional<LifetimeCheck> check;
};

TEST(LifetimeCheck, PermitsExactlyTheBytesOfLiveTensors) {
  if (!kPoisoning) GTEST_SKIP() << "needs AddressSanitizer";
  for (const char* device : {"cpu", "emu:0"}) {
    CheckedArena a(device);
    const auto tensors = plan::tensor_lifetimes(a.plan, plan::Mode::kTraining);
    const auto saved = plan::saved_lifetimes(a.plan, plan::Mode::kTraining);
    for (std::size_t moment = 0; moment < a.check->backward(a.plan.backward.size()); ++moment) {
      std::vector<bool> poisoned(a.memory.arena_bytes, true);
      const auto permit = [&](std::uint64_t offset, std::uint64_t bytes) {
        std::fill_n(poisoned.begin() + static_cast<std::ptrdiff_t>(offset), bytes, false);
      };
      const auto is_live = [&](const plan::Lifetime& life) {
        return life.first <= static_cast<int>(moment) && static_cast<int>(moment) <= life.last;
      };
      for (std::size_t t = 0; t < tensors.size(); ++t)
        if (is_live(tensors[t])) permit(a.memory.tensor_offset[t], a.plan.tensors[t].bytes(kFewRows));
      for (std::size_t s = 0; s < saved.size(); ++s)
        if (is_live(saved[s])) permit(a.memory.saved_offset[s], a.needs[s].saved);
      const bool in_backward = moment > a.check->losses();
      const auto step = in_backward ? a.plan.backward[moment - a.check->backward(0)].step : static_cast<int>(moment);
      if (moment != a.check->losses() && step != plan::kAbsent)
        permit(a.memory.scratch_offset, a.needs[static_cast<std::size_t>(step)].scratch);

      a.check->before(moment);
      a.stream->synchronize();
      for (std::size_t b = 0; b < poisoned.size(); ++b)
        ASSERT_EQ(is_poisoned(a.arena() + b), poisoned[b]) << device << " moment " << moment << " byte " << b;
      a.check->after(moment);
    }
  }
}

TEST(LifetimeCheckDeathTest, AppliesWhenTheStreamExecutes) {
  if (!kPoisoning) GTEST_SKIP() << "needs AddressSanitizer";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* device : {"cpu", "emu:0"}) {
    CheckedArena a(device);
    a.check->before(a.check->forward(0));
    const auto copy = a.device->allocate_host(sizeof(float));
    a.device->queue_to_host(copy->data(), a.output(0), sizeof(float), *a.stream);
    for (std::size_t s = 0; s < a.plan.steps.size(); ++s) a.check->after(a.check->forward(s));
    a.stream->synchronize();
    a.check->begin(plan::Mode::kTraining, kFewRows);
    EXPECT_DEATH(a.copy_output(0), "use-after-poison") << device;
  }
}

TEST(LifetimeCheckDeathTest, ReportsAnOpThatReadsADeadTensor) {
  if (!kPoisoning) GTEST_SKIP() << "needs AddressSanitizer";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const graph::Model model = model_of(R"(
layers:
  - Input: {name: x, shape: [6]}
  - Dense: {name: first, units: 40}
  - Dropout: {name: drop, rate: 0.5}
  - Dense: {name: logits, units: 3, activation: softmax}
)");
  const plan::Plan plan = toy_plan(model);
  const SampleBatch batch(9, 6, 3);
  const auto train = [&](const char* stale_reader) {
    ToyDevice device(0, {.stale_reader = stale_reader});
    device.enter();
    ReplicaOptions options{.rows = 9, .row_counts = {9}, .seed = 5};
    options.optimizer = sgd();
    NoReduction sink;
    Replica replica(plan, device, sink, nullptr, std::move(options));
    replica.arenas().push(model);
    replica.step({batch.view()}, {.number = 0, .learning_rate = 0.1, .global_samples = 9});
  };
  train("");
  EXPECT_DEATH(train("first"), "use-after-poison");
}

}  // namespace
}  // namespace dptrain::runtime
