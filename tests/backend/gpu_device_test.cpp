// The GPU device without its ops, on the emulator and, if present, on a GPU.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "backend/guarded_memory.h"
#include "backend/harness.h"
#include "backend/number_types.h"
#include "backend/one_op.h"
#include "core/error.h"
#include "nn/convolutions.h"
#include "nn/dropout.h"
#include "nn/normalization.h"

namespace dptrain::test {
namespace {

using backend::Device;
using backend::Stream;

void on_gpus(const std::function<void(Device&)>& test) {
  for (const auto& device : gpus()) {
    SCOPED_TRACE(device->description());
    device->enter();
    test(*device);
  }
}

std::vector<float> read(Device& device, const backend::Buffer& buffer, Stream& stream) {
  std::vector<float> values(buffer.bytes() / sizeof(float));
  device.copy_to_host(values.data(), buffer.data(), buffer.bytes(), stream);
  return values;
}

TEST(GpuDevice, MemoryIsZeroAndSized) {
  on_gpus([](Device& device) {
    const auto stream = device.make_stream();
    EXPECT_FALSE(device.reads_host_memory());
    for (const std::size_t floats : {std::size_t{0}, std::size_t{25}, std::size_t{70000}}) {
      const auto buffer = device.allocate(floats * sizeof(float));
      EXPECT_EQ(buffer->bytes(), floats * sizeof(float));
      EXPECT_NE(buffer->data(), nullptr);
      EXPECT_EQ(read(device, *buffer, *stream), std::vector<float>(floats, 0.0F));
      const auto host = device.allocate_host(floats * sizeof(float));
      EXPECT_EQ(host->bytes(), floats * sizeof(float));
      EXPECT_EQ(std::vector<float>(host->as<float>(), host->as<float>() + floats), std::vector<float>(floats, 0.0F));
    }
  });
}

TEST(GpuDevice, FillsAddsConverts) {
  on_gpus([](Device& device) {
    const auto stream = device.make_stream();
    const Guarded x(device, *stream, 7), y(device, *stream, std::vector<double>(7, 2.0));
    device.fill(x.floats(), 7, 1.5F, *stream);
    device.accumulate(y.data(), x.data(), DType::kF32, 7, *stream);
    EXPECT_EQ(y.read("y"), std::vector<float>(7, 3.5F));
    for (const DType type : {DType::kBf16, DType::kF16}) {
      const std::vector<double> values{1.0 / 3, -1e-7, 70000, 0, 12.34, -5, 1e30};
      const Guarded from(device, *stream, values), narrow(device, *stream, 7, type), wide(device, *stream, 7);
      device.from_float(from.floats(), narrow.data(), type, 7, *stream);
      device.to_float(narrow.data(), type, wide.floats(), 7, *stream);
      const std::vector<double> expected = rounded(type, rounded(DType::kF32, values));
      EXPECT_EQ(narrow.read("narrow"), std::vector<float>(expected.begin(), expected.end())) << name_of(type);
      EXPECT_EQ(wide.read("wide"), std::vector<float>(expected.begin(), expected.end())) << name_of(type);
      device.accumulate(narrow.data(), narrow.data(), type, 1, *stream);
      EXPECT_EQ(narrow.read("narrow")[0], static_cast<float>(2 * expected[0])) << name_of(type);
    }
  });
}

TEST(GpuDevice, SumsRanksInOrder) {
  on_gpus([](Device& device) {
    const auto stream = device.make_stream();
    // Another order loses the small number.
    const Guarded a(device, *stream, {1e8, 1, 2}), b(device, *stream, {-1e8, 1, 2}), c(device, *stream, {0.25, 1, 2});
    device.sum_ranks({a.floats(), b.floats(), c.floats()}, 0, 2, *stream);
    for (const Guarded* each : {&a, &b, &c}) EXPECT_EQ(each->read("arena"), (std::vector<float>{0.25F, 3, 2}));
    EXPECT_THROW(device.sum_ranks(std::vector<float*>(17, a.floats()), 0, 1, *stream), Error);
  });
}

TEST(GpuDevice, HashDependsOnEveryBitAndPosition) {
  on_gpus([](Device& device) {
    const auto stream = device.make_stream();
    std::vector<double> x(5000, 1.0);
    const auto hash = [&](std::int64_t n) {
      const Guarded arena(device, *stream, x);
      return device.hash(arena.floats(), n, *stream);
    };
    const std::uint64_t before = hash(5000);
    EXPECT_EQ(before, hash(5000));
    EXPECT_NE(before, hash(4999));
    for (const std::size_t at : {0U, 1023U, 1024U, 4999U}) {
      x[at] = static_cast<double>(std::nextafter(1.0F, 2.0F));
      EXPECT_NE(before, hash(5000)) << at;
      x[at] = 1.0;
    }
    x[7] = 2.0;
    const std::uint64_t first = hash(5000);
    x[7] = 1.0;
    x[11] = 2.0;
    EXPECT_NE(first, hash(5000));
  });
}

TEST(GpuDevice, ReportsFilterLayouts) {
  on_gpus([](Device& device) {
    const auto conv = layer(nn::Conv2DSpec{}), dense = layer(nn::DenseSpec{});
    const auto norm = layer(nn::BatchNormalizationSpec{}), separable = layer(nn::SeparableConv2DSpec{});
    const std::vector<int> krsc{3, 0, 1, 2};
    EXPECT_EQ(device.weight_order(conv, 0), krsc);
    EXPECT_EQ(device.weight_order(dense, 0), (std::vector<int>{1, 0}));
    EXPECT_TRUE(device.weight_order(separable, 0).empty());  // the depthwise one
    EXPECT_EQ(device.weight_order(separable, 1), krsc);
    EXPECT_TRUE(device.weight_order(conv, 1).empty());
    EXPECT_TRUE(device.weight_order(norm, 0).empty());
  });
}

/// x = 1 in one stream, y += x in another one.
float through_two_streams(Device& device, bool with_event) {
  const auto first = device.make_stream(), second = device.make_stream(true);
  const auto event = device.make_event();
  const auto x = device.allocate(sizeof(float)), y = device.allocate(sizeof(float));
  device.fill(x->as<float>(), 1, 1, *first);
  if (with_event) {
    event->record(*first);
    event->hold(*second);
  }
  device.accumulate(y->data(), x->data(), DType::kF32, 1, *second);
  const float value = read(device, *y, *second)[0];
  first->synchronize();
  return value;
}

TEST(GpuDevice, EventsOrderStreams) {
  on_gpus([](Device& device) {
    for (int draw = 0; draw < 30; ++draw) {
      shuffle();
      ASSERT_EQ(through_two_streams(device, true), 1.0F) << draw;
    }
  });
}

/// The emulator detects a missing event; a GPU may or may not.
TEST(GpuDevice, TheEmulatorDetectsAMissingEvent) {
  for (const auto& device : gpus()) {
    if (device->kind() != backend::DeviceKind::kEmu) continue;
    device->enter();
    int wrong = 0;
    for (int draw = 0; draw < 30; ++draw) {
      shuffle();
      wrong += int{through_two_streams(*device, false) != 1.0F};
    }
    EXPECT_GT(wrong, 0);
    EXPECT_LT(wrong, 30);
  }
}

/// A recorded dropout draws new numbers in every step, from the state uploaded before it.
TEST(GpuDevice, ARecordedStepReadsItsState) {
  on_gpus([](Device& device) {
    shuffle();
    Case c;
    c.layer = layer(nn::DropoutSpec{.rate = 0.5F});
    c.inputs = {{50}};
    const OneStep one(c, Wanted::kAll, device);
    const auto op = device.make_op(one.context(1));
    const auto stream = device.make_stream();
    const Guarded x(device, *stream, std::vector<double>(50, 1.0)), y(device, *stream, 50);
    const auto state = device.allocate(sizeof(kernels::StepState)), host = device.allocate_host(state->bytes());
    const void* const inputs[] = {x.data()};
    void* const outputs[] = {y.data()};
    backend::OpArgs args;
    args.rows = 1;
    args.training = true;
    args.inputs = inputs;
    args.outputs = outputs;
    args.state = state->as<kernels::StepState>();
    args.stream = stream.get();
    const auto at_step = [&](std::int64_t step) {
      *host->as<kernels::StepState>() = {.step = step};
      device.copy_to_device(state->data(), host->data(), state->bytes(), *stream);
    };
    std::vector<std::vector<float>> direct, replayed;
    for (const std::int64_t step : {3, 4}) {
      at_step(step);
      op->forward(args);
      direct.push_back(y.read("y"));
    }
    const auto recording = device.record(*stream, [&] { op->forward(args); });
    ASSERT_NE(recording, nullptr);
    for (const std::int64_t step : {3, 4}) {
      at_step(step);
      recording->replay(*stream);
      replayed.push_back(y.read("y"));
    }
    EXPECT_EQ(direct, replayed);
    EXPECT_NE(direct[0], direct[1]);
  });
}

TEST(GpuDevice, ARecordingThatFailsIsDropped) {
  on_gpus([](Device& device) {
    const auto stream = device.make_stream();
    const auto x = device.allocate(sizeof(float));
    const auto fails = [&] {
      device.fill(x->as<float>(), 1, 5, *stream);
      throw std::runtime_error("in the middle");
    };
    EXPECT_THROW(device.record(*stream, fails), std::runtime_error);
    EXPECT_EQ(read(device, *x, *stream), std::vector<float>{0}) << "nothing of it has run";
    device.record(*stream, [&] { device.fill(x->as<float>(), 1, 2, *stream); })->replay(*stream);
    EXPECT_EQ(read(device, *x, *stream), std::vector<float>{2});
  });
}

TEST(GpuDevice, AWatcherIsCalledAndMayAbort) {
  on_gpus([](Device& device) {
    shuffle();
    const auto stream = device.make_stream();
    // on a GPU: still running after the host has queued everything
    const std::int64_t n = device.kind() == backend::DeviceKind::kEmu ? 1 << 10 : 1 << 26;
    const auto x = device.allocate(static_cast<std::size_t>(n) * sizeof(float));
    const auto busy = [&] {
      for (int i = 0; i < 50; ++i) device.fill(x->as<float>(), n, static_cast<float>(i), *stream);
    };
    int calls = 0;
    stream->set_watcher([&] { ++calls; });
    busy();
    stream->synchronize();
    EXPECT_GT(calls, 0);
    stream->set_watcher([] { throw Error(ErrorKind::kDevice, "a peer has died"); });
    busy();
    EXPECT_THROW(stream->synchronize(), Error);
    stream->set_watcher(nullptr);
    float first = 0;
    device.copy_to_host(&first, x->data(), sizeof(first), *stream);
    EXPECT_EQ(first, 49.0F);
  });
}

/// Replicas of one device share only its memory.
TEST(GpuDevice, ReplicasShareADevice) {
  for (const auto& a : gpus()) {
    const auto b =
        a->kind() == backend::DeviceKind::kEmu ? backend::make_emu_device(0, {}) : backend::make_cuda_device(0, {});
    EXPECT_EQ(a->name(), b->name());
    a->enter();
    const auto from = a->make_stream(), to = b->make_stream();
    const auto x = a->allocate(sizeof(float)), y = b->allocate(sizeof(float));
    const auto event = a->make_event();
    a->fill(x->as<float>(), 1, 3, *from);
    event->record(*from);
    event->hold(*to);
    b->accumulate(y->data(), x->data(), DType::kF32, 1, *to);
    EXPECT_EQ(read(*b, *y, *to), std::vector<float>{3});
  }
}

}  // namespace
}  // namespace dptrain::test
