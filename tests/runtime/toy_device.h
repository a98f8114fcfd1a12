#pragma once

// A device for tests: plain loops over host memory, a few layers, and switches. It can use memory separate from the
// host's (so that batches must be staged), throw at a chosen place, and have streams that hang. It rejects calls that
// violate the contract of Op.

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/device.h"
#include "core/error.h"
#include "core/format.h"
#include "nn/convolutions.h"
#include "support/tree_sum.h"

namespace dptrain::test {

/// An unused kind of device, so that the ops below do not clash with others in the table.
inline constexpr auto kToy = static_cast<backend::DeviceKind>(100);

/// Throws, or hangs, when `layer` runs forward (or backward) in that optimizer step.
struct Fault {
  std::string layer;
  std::int64_t step = 0;
  bool backward = false;
  bool hangs = false;
};

/// The bits of the bfloat16 nearest to a finite float (ties to even), and the inverse.
inline std::uint16_t bf16_of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
inline float float_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// Runs everything immediately. synchronize() calls the watcher, if any, while `stuck` is set, and does not return
/// before `hanging` is reset.
class ToyStream final : public backend::Stream {
 public:
  ToyStream(const std::atomic<bool>* stuck, const std::atomic<bool>* hanging) : stuck_(stuck), hanging_(hanging) {}
  void synchronize() override {
    while (stuck_ != nullptr && watcher_ && stuck_->load()) {
      watcher_();
      std::this_thread::yield();
    }
    while (hanging_ != nullptr && hanging_->load()) std::this_thread::yield();
  }
  void set_watcher(std::function<void()> watcher) override { watcher_ = std::move(watcher); }
  void* native() const override { return const_cast<ToyStream*>(this); }  // a distinct value per stream

 private:
  const std::atomic<bool>*const stuck_, *const hanging_;
  std::function<void()> watcher_;
};

class ToyDevice final : public backend::Device {
 public:
  struct Switches {
    bool reads_host_memory = true;
    std::optional<Fault> fault{};
    const std::atomic<bool>* stuck = nullptr;
    const std::atomic<bool>* hanging = nullptr;
    std::atomic<int>* visits = nullptr;  ///< counts calls of ops
    std::chrono::milliseconds pause{};   ///< before each of them
    std::string stale_reader{};          ///< layer whose backward reads its output, which its spec does not declare
    bool refuses_to_record = false;
    bool records = false;  ///< one step: its queued work runs during recording, and a replay does nothing
  };

  explicit ToyDevice(int index) : ToyDevice(index, {}) {}
  ToyDevice(int index, Switches switches) : index_(index), switches_(std::move(switches)) {}

  backend::DeviceKind kind() const noexcept override { return kToy; }
  std::string name() const override { return fmt::format("toy:{}", index_); }
  std::string description() const override { return name(); }
  void enter() override { entered_ = true; }
  std::unique_ptr<backend::Stream> make_stream(bool) override {
    return std::make_unique<ToyStream>(switches_.stuck, switches_.hanging);
  }
  std::unique_ptr<backend::Event> make_event() override { return std::make_unique<backend::Event>(); }

  std::unique_ptr<backend::Buffer> allocate(std::size_t bytes) override {
    if (!entered_) throw Error(ErrorKind::kInternal, "allocate before enter");
    auto buffer = std::make_unique<Memory>(bytes);
    ranges_.push_back({buffer->as<char>(), buffer->as<char>() + bytes});
    return buffer;
  }
  std::unique_ptr<backend::Buffer> allocate_host(std::size_t bytes) override { return std::make_unique<Memory>(bytes); }
  void copy_to_device(void* to, const void* from, std::size_t bytes, backend::Stream&) override {
    std::memcpy(to, from, bytes);
    (recording_ ? recorded_ends_ : host_ends_).push_back(from);
  }
  void copy_between(void* to, const void* from, std::size_t bytes, backend::Stream&) override {
    std::memcpy(to, from, bytes);
    ++copies_between_;
  }
  int take_copies_between() { return std::exchange(copies_between_, 0); }  ///< number of calls since the last one
  void copy_to_host(void* to, const void* from, std::size_t bytes, backend::Stream& stream) override {
    stream.synchronize();
    std::memcpy(to, from, bytes);
    (recording_ ? recorded_ends_ : host_ends_).push_back(to);
  }
  /// Takes the host addresses of all copies, in order.
  std::vector<const void*> take_host_ends() { return std::exchange(host_ends_, {}); }
  /// The same for copies that are part of a recording.
  std::vector<const void*> take_recorded_ends() { return std::exchange(recorded_ends_, {}); }
  const backend::RuntimeOptions& options() const noexcept override { return options_; }
  bool reads_host_memory() const noexcept override { return switches_.reads_host_memory; }
  std::unique_ptr<backend::LossOp> make_loss(const backend::LossContext& context) override;
  std::unique_ptr<backend::Update> make_update(const backend::UpdateContext& context) override;

  void fill(float* x, std::int64_t n, float value, backend::Stream&) override { std::fill_n(x, n, value); }
  void apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType, std::int64_t rows, std::int64_t classes,
                   float* values, backend::Stream&) override {
    if (fusion != plan::LossStep::Fusion::kSoftmax) throw Error(ErrorKind::kInternal, "the toy fuses softmax alone");
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* z = static_cast<const float*>(logits) + row * classes;
      double sum = 0;
      for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(static_cast<double>(z[c]));
      for (std::int64_t c = 0; c < classes; ++c)
        values[row * classes + c] = static_cast<float>(std::exp(static_cast<double>(z[c])) / sum);
    }
  }
  void mask_labels(const std::int32_t* labels, std::int64_t n, std::int32_t ignored, std::uint8_t* mask,
                   backend::Stream&) override {
    std::transform(labels, labels + n, mask, [&](std::int32_t label) { return std::uint8_t{label != ignored}; });
  }
  void mask_labels(const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask,
                   backend::Stream&) override {
    for (std::int64_t i = 0; i < n; ++i) mask[i] = labels[i * width] < 0 ? 0 : 1;
  }
  void count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, backend::Stream&) override {
    *valid += static_cast<double>(std::count(mask, mask + n, std::uint8_t{1}));
  }
  void mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                  backend::Stream&) override {
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += valid[rank * stride];
    *scale = static_cast<float>(positions / sum);
  }
  void mark_not_finite(const double* value, float* gradient, backend::Stream&) override {
    if (!std::isfinite(*value)) *gradient = std::numeric_limits<float>::quiet_NaN();
  }
  void accumulate(void* y, const void* x, DType, std::int64_t n, backend::Stream&) override {
    for (std::int64_t i = 0; i < n; ++i) static_cast<float*>(y)[i] += static_cast<const float*>(x)[i];
  }
  void from_float(const float* x, void* y, DType type, std::int64_t n, backend::Stream&) override {
    if (type == DType::kBf16)
      std::transform(x, x + n, static_cast<std::uint16_t*>(y), bf16_of);
    else
      std::copy_n(x, n, static_cast<float*>(y));
  }
  void to_float(const void* x, DType type, float* y, std::int64_t n, backend::Stream&) override {
    if (type == DType::kBf16)
      std::transform(static_cast<const std::uint16_t*>(x), static_cast<const std::uint16_t*>(x) + n, y, float_of_bf16);
    else
      std::copy_n(static_cast<const float*>(x), n, y);
  }
  void sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end, backend::Stream&) override {
    for (std::int64_t i = begin; i < end; ++i) {
      const float sum = tree_sum(0, static_cast<int>(arenas.size()),
                                 [&](int rank) { return arenas[static_cast<std::size_t>(rank)][i]; });
      for (float* arena : arenas) arena[i] = sum;
    }
  }
  std::unique_ptr<backend::Recording> record(backend::Stream&, const std::function<void()>& work) override {
    if (switches_.refuses_to_record) throw Error(ErrorKind::kDevice, name() + ": capture refused");
    if (!switches_.records) return nullptr;
    recording_ = true;
    work();
    recording_ = false;
    return std::make_unique<Recording>();
  }
  std::uint64_t hash(const float* x, std::int64_t n, backend::Stream&) override {
    std::uint64_t hash = 14695981039346656037U;
    for (std::int64_t i = 0; i < n; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, x + i, sizeof bits);
      hash = (hash ^ bits) * 1099511628211U;
    }
    return hash;
  }

  /// Called by the ops. Injects the fault, and rejects host memory that the device cannot read.
  void visit(const plan::Step& step, const backend::OpArgs& args, bool backward) const {
    const std::optional<Fault>& fault = switches_.fault;
    if (switches_.pause.count() > 0) std::this_thread::sleep_for(switches_.pause);
    if (switches_.visits != nullptr) ++*switches_.visits;
    if (fault && fault->layer == step.name && fault->step == args.step && fault->backward == backward) {
      while (fault->hangs) std::this_thread::sleep_for(std::chrono::seconds(1));
      throw Error(ErrorKind::kDevice, "injected");
    }
    if (backward && switches_.stale_reader == step.name) stale_value_ = *static_cast<const float*>(args.outputs[0]);
    for (const void* input : args.inputs) check_readable(input, args.rows);
  }
  void check_readable(const void* p, std::int64_t rows) const {
    if (switches_.reads_host_memory || rows == 0) return;
    for (const auto& [begin, end] : ranges_)
      if (p >= begin && p < end) return;
    throw Error(ErrorKind::kInternal, "the device was handed memory of the host");
  }

 private:
  class Memory final : public backend::Buffer {
   public:
    explicit Memory(std::size_t bytes) : bytes_(bytes / sizeof(double) + 1) {}
    void* data() const noexcept override { return const_cast<double*>(bytes_.data()); }
    std::size_t bytes() const noexcept override { return bytes_.size() * sizeof(double); }

   private:
    std::vector<double> bytes_;
  };

  class Recording final : public backend::Recording {
   public:
    void replay(backend::Stream&) override {}
  };

  const int index_;
  const Switches switches_;
  const backend::RuntimeOptions options_;
  mutable volatile float stale_value_ = 0;
  bool entered_ = false;
  std::vector<std::pair<const char*, const char*>> ranges_;
  std::vector<const void*> host_ends_, recorded_ends_;
  bool recording_ = false;
  int copies_between_ = 0;
};

}  // namespace dptrain::test

#include "runtime/toy_ops.h"
