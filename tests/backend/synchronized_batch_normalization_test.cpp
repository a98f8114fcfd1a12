// Synchronized batch normalization: replicas in threads, each with its rows of one batch, give the same activations and
// gradients as one op on the whole batch, bit by bit. One replica has no rows.

#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "backend/guarded_memory.h"
#include "backend/harness.h"
#include "core/random.h"
#include "nn/normalization.h"

namespace dptrain::test {
namespace {

constexpr int kChannels = 5;
constexpr std::int64_t kSpatial = 6;

/// all_gather over threads, through the host's memory.
struct Table {
  explicit Table(int size) : parts(static_cast<std::size_t>(size)), barrier(size) {}
  std::vector<std::vector<std::byte>> parts;
  std::barrier<> barrier;
};
class ThreadCollective final : public backend::Collective {
 public:
  ThreadCollective(Table& table, int rank, backend::Device& device) : table_(table), rank_(rank), device_(device) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(table_.parts.size()); }
  void all_gather(const void* mine, std::int64_t bytes, void* all, backend::Stream& stream) override {
    const auto size = static_cast<std::size_t>(bytes);
    auto& part = table_.parts[static_cast<std::size_t>(rank_)];
    part.resize(size);
    device_.copy_to_host(part.data(), mine, size, stream);
    table_.barrier.arrive_and_wait();
    auto* to = static_cast<std::byte*>(all);
    for (const auto& each : table_.parts)
      device_.copy_to_device(std::exchange(to, to + size), each.data(), size, stream);
    table_.barrier.arrive_and_wait();
  }

 private:
  Table& table_;
  int rank_;
  backend::Device& device_;
};

/// Creates the device of a rank.
using Maker = std::function<std::unique_ptr<backend::Device>(int rank)>;

struct Result {
  std::vector<float> y, dx, dgamma, dbeta, mean, variance;
};

/// Rows [first, first + rows) of the batch on one replica.
Result replica(const Maker& make, int rank, int replicas, std::int64_t first, std::int64_t rows, std::int64_t total,
               Table& table, const std::vector<double>& x, const std::vector<double>& dy) {
  const auto device = make(rank);
  device->enter();
  const auto stream = device->make_stream();
  const DType type = device->options().compute;
  nn::BatchNormalizationSpec spec;
  spec.synchronized = true;
  plan::Plan plan;
  plan.compute = type;
  for (int i = 0; i < 4; ++i) plan.tensors.push_back({.name = "t", .shape = {2, 3, kChannels}, .type = type});
  plan::Step step;
  step.spec = layer(spec);
  step.inputs = {0};
  step.outputs = {1};
  step.has_backward = true;
  step.output_gradients = {2};
  step.input_gradients = {3};
  step.parameter_gradients = {true, true, true, true};
  plan.steps.push_back(step);
  const auto op = device->make_op(
      {.plan = plan, .step = plan.steps[0], .rows = std::max<std::int64_t>(rows, 1), .replicas = replicas});
  EXPECT_EQ(op->runs_empty(), replicas > 1);

  const auto part = [&](const std::vector<double>& all) {
    const auto at = all.begin() + first * kSpatial * kChannels;
    return std::vector<double>(at, at + rows * kSpatial * kChannels);
  };
  const auto floats = static_cast<std::size_t>(rows * kSpatial * kChannels);
  const Guarded input(*device, *stream, part(x), type), output_gradient(*device, *stream, part(dy), type);
  const Guarded output(*device, *stream, floats, type), input_gradient(*device, *stream, floats, type);
  const std::vector<double> gamma{0.5, -1, 2, 1, 0.25}, beta{1, 2, 3, 4, 5}, zeros(kChannels, 0.0),
      ones(kChannels, 1.0);
  const Guarded weights[] = {
      {*device, *stream, gamma}, {*device, *stream, beta}, {*device, *stream, zeros}, {*device, *stream, ones}};
  std::vector<Guarded> gradients;
  for (int i = 0; i < 4; ++i) gradients.emplace_back(*device, *stream, kChannels);
  const Guarded saved(*device, *stream, op->need().saved / sizeof(float));
  const Guarded scratch(*device, *stream, op->need().scratch / sizeof(float));
  const Guarded first_pass_scratch(*device, *stream, op->need().first_pass_scratch / sizeof(float));

  ThreadCollective collective(table, rank, *device);
  const void* const inputs[] = {input.data()};
  void* const outputs[] = {output.data()};
  void* const output_gradients[] = {output_gradient.data()};
  const float* const weight_pointers[] = {weights[0].floats(), weights[1].floats(), weights[2].floats(),
                                          weights[3].floats()};
  void* const input_gradients[] = {input_gradient.data()};
  float* const weight_gradients[] = {gradients[0].floats(), gradients[1].floats(), gradients[2].floats(),
                                     gradients[3].floats()};
  backend::OpArgs args;
  args.rows = rows;
  args.share = static_cast<double>(rows) / static_cast<double>(total);
  args.training = true;
  args.inputs = inputs;
  args.outputs = outputs;
  args.weights = weight_pointers;
  args.output_gradients = output_gradients;
  args.input_gradients = input_gradients;
  args.weight_gradients = weight_gradients;
  args.saved = saved.data();
  args.scratch = scratch.data();
  args.first_pass_scratch = first_pass_scratch.data();
  args.stream = stream.get();
  args.collective = replicas > 1 ? &collective : nullptr;
  op->forward(args);
  op->backward(args);
  saved.read("saved");
  scratch.read("scratch");
  first_pass_scratch.read("first pass scratch");
  return {output.read("y"),           input_gradient.read("dx"), gradients[0].read("dgamma"),
          gradients[1].read("dbeta"), gradients[2].read("mean"), gradients[3].read("variance")};
}

/// Compares `whole` with the parts of three replicas. The second has no rows.
void expect_one_batch(const Result& whole, const std::vector<Result>& parts) {
  const auto expect = [&](std::vector<float> Result::*member, bool sum, const char* what) {
    std::vector<float> joined;
    for (const Result& part : parts) {
      const auto& values = part.*member;
      if (!sum)
        joined.insert(joined.end(), values.begin(), values.end());
      else if (joined.empty())
        joined = values;
      else
        for (std::size_t i = 0; i < joined.size(); ++i) joined[i] += values[i];
    }
    const auto& of_whole = whole.*member;
    if (!sum) {  // the sums of these are in double, whose rounding does not affect the floats
      ASSERT_EQ(joined.size(), of_whole.size());
      EXPECT_EQ(std::memcmp(joined.data(), of_whole.data(), joined.size() * sizeof(float)), 0) << what;
      return;
    }
    // Parts are rounded to float before they are added: a few roundings.
    expect_close(joined, {of_whole.begin(), of_whole.end()}, 2e-6, what);
  };
  expect(&Result::y, false, "y");
  expect(&Result::dx, false, "dx");
  expect(&Result::dgamma, true, "d gamma");
  expect(&Result::dbeta, true, "d beta");
  expect(&Result::mean, true, "mean");
  expect(&Result::variance, true, "variance");
}

void check(const Maker& make) {
  const std::vector<std::int64_t> split{4, 0, 3};
  constexpr std::int64_t kRows = 7;
  RandomStream random(3, 1);
  std::vector<double> x(kRows * kSpatial * kChannels), dy(x.size());
  for (double& value : x) value = random.normal();
  for (double& value : dy) value = random.normal();

  shuffle();
  Table alone(1), together(3);
  const Result whole = replica(make, 0, 1, 0, kRows, kRows, alone, x, dy);
  std::vector<Result> parts(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      const auto at = static_cast<std::size_t>(rank);
      std::int64_t first = 0;
      for (std::size_t r = 0; r < at; ++r) first += split[r];
      parts[at] = replica(make, rank, 3, first, split[at], kRows, together, x, dy);
    });
  for (std::thread& thread : threads) thread.join();
  expect_one_batch(whole, parts);
}

/// Replicas on devices of one kind; a GPU has several.
TEST(SynchronizedBatchNormalization, ReplicasEqualOneBatch) {
  for (const DType type : {DType::kF32, DType::kBf16, DType::kF16}) {
    const backend::RuntimeOptions options{.compute = type};
    for (const auto& each : devices(options)) {
      SCOPED_TRACE(each->description() + " in " + std::string(name_of(type)));
      check([&, kind = each->kind()](int rank) {
        if (kind == backend::DeviceKind::kCpu) return backend::make_cpu_device(rank, 1, options);
        return kind == backend::DeviceKind::kEmu ? backend::make_emu_device(0, options)
                                                 : backend::make_cuda_device(0, options);
      });
    }
  }
}

}  // namespace
}  // namespace dptrain::test
