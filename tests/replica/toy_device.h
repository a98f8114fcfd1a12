#pragma once

// A device for tests: plain loops over host memory, a few layers, and switches. It can keep its memory apart from the
// host's (so that batches must be staged) and throw at a chosen place. It refuses calls that break the contract of Op.

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "device/device.h"
#include "layers/dense.h"

namespace dptrain::testing {

/// Not a kind that the program knows, so that the ops below meet no others in the table.
inline constexpr auto kToy = static_cast<device::DeviceKind>(100);

/// Throws when `layer` runs forward (or backward) in that optimizer step.
struct Fault {
  std::string layer;
  std::int64_t step = 0;
  bool backward = false;
};

class ToyDevice final : public device::Device {
 public:
  struct Switches {
    bool reads_host_memory = true;
    std::optional<Fault> fault{};
  };

  explicit ToyDevice(int index) : ToyDevice(index, {}) {}
  ToyDevice(int index, Switches switches) : index_(index), switches_(std::move(switches)) {}

  device::DeviceKind kind() const noexcept override { return kToy; }
  std::string name() const override { return fmt::format("toy:{}", index_); }
  std::string description() const override { return name(); }
  void enter() override { entered_ = true; }
  std::unique_ptr<device::Stream> make_stream() override { return std::make_unique<device::Stream>(); }

  std::unique_ptr<device::Buffer> allocate(std::size_t bytes) override {
    if (!entered_) throw Error(ErrorKind::kInternal, "allocate before enter");
    auto buffer = std::make_unique<Memory>(bytes);
    ranges_.push_back({buffer->as<char>(), buffer->as<char>() + bytes});
    return buffer;
  }
  void copy_to_device(void* to, const void* from, std::size_t bytes, device::Stream&) override {
    std::memcpy(to, from, bytes);
  }
  void copy_to_host(void* to, const void* from, std::size_t bytes, device::Stream&) override {
    std::memcpy(to, from, bytes);
  }
  const device::RuntimeOptions& options() const noexcept override { return options_; }
  bool reads_host_memory() const noexcept override { return switches_.reads_host_memory; }
  std::unique_ptr<device::LossOp> make_loss(const device::LossContext& context) override;
  std::unique_ptr<device::Update> make_update(const device::UpdateContext& context) override;

  void fill(float* x, std::int64_t n, float value, device::Stream&) override { std::fill_n(x, n, value); }
  void accumulate(float* y, const float* x, std::int64_t n, device::Stream&) override {
    for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
  }
  std::uint64_t hash(const float* x, std::int64_t n, device::Stream&) override {
    std::uint64_t hash = 14695981039346656037U;
    for (std::int64_t i = 0; i < n; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, x + i, sizeof bits);
      hash = (hash ^ bits) * 1099511628211U;
    }
    return hash;
  }

  bool fuses_activation(const config::Typed& layer, layers::Activation activation) const override {
    return layer.get_if<layers::DenseSpec>() != nullptr && activation == layers::Activation::kRelu;
  }
  bool pool_masks_relu(const config::Typed&) const override { return false; }

  /// For the ops: breaks where it was told to, and when memory of the host is handed over that it cannot read.
  void visit(const plan::Step& step, const device::OpArgs& args, bool backward) const {
    const std::optional<Fault>& fault = switches_.fault;
    if (fault && fault->layer == step.name && fault->step == args.step && fault->backward == backward)
      throw Error(ErrorKind::kDevice, "injected");
    for (const float* input : args.inputs) check_readable(input, args.rows);
  }
  void check_readable(const void* p, std::int64_t rows) const {
    if (switches_.reads_host_memory || rows == 0) return;
    for (const auto& [begin, end] : ranges_)
      if (p >= begin && p < end) return;
    throw Error(ErrorKind::kInternal, "the device was handed memory of the host");
  }

 private:
  class Memory final : public device::Buffer {
   public:
    explicit Memory(std::size_t bytes) : bytes_(bytes / sizeof(double) + 1) {}
    void* data() const noexcept override { return const_cast<double*>(bytes_.data()); }
    std::size_t bytes() const noexcept override { return bytes_.size() * sizeof(double); }

   private:
    std::vector<double> bytes_;
  };

  const int index_;
  const Switches switches_;
  const device::RuntimeOptions options_;
  bool entered_ = false;
  std::vector<std::pair<const char*, const char*>> ranges_;
};

}  // namespace dptrain::testing

#include "replica/toy_ops.h"
