#include "cli/device_flags.h"

#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "device/device.h"

namespace dptrain::cli {
namespace {

constexpr int kMostReplicas = 1024, kMostThreads = 4096;  // beyond these it is a slip of the finger

std::optional<int> positive(const std::string& text, int most) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && rest == text.data() + text.size() && value >= 1 && value <= most ? std::optional(value)
                                                                                                  : std::nullopt;
}

/// Replicas on GPUs come with the CUDA backend; until then asking for one says what is missing.
void make_gpu(const std::string& asked) try {
  device::make_cuda_device(0, {});
} catch (const Error& error) {
  throw error.within(asked);
}

}  // namespace

void DeviceFlags::add(Command& command) {
  command.section("Devices")
      .option("--cpus", "N[xT]", cpus,
              "N CPU replicas of T threads each (default 1; T: the cores shared evenly); no GPU is touched")
      .option("--gpus", "IDS", gpus, "GPUs by id, as in 0,1 or 0-3 or all; none: the CPU")
      .whole("--num-gpus", "N", num_gpus, "the first N idle GPUs")
      .exclusive({"--cpus", "--gpus", "--num-gpus"});
}

train::DeviceRequest DeviceFlags::request() const {
  if (num_gpus) make_gpu(fmt::format("--num-gpus {}", *num_gpus));
  if (gpus && *gpus != "none") make_gpu("--gpus " + *gpus);
  return cpus ? parse_cpus(*cpus) : train::DeviceRequest{};
}

train::DeviceRequest parse_cpus(const std::string& text) {
  const std::size_t x = text.find('x');
  const auto replicas = positive(text.substr(0, x), kMostReplicas);
  const auto threads = x == std::string::npos ? std::optional(0) : positive(text.substr(x + 1), kMostThreads);
  if (!replicas || !threads)
    throw Error(ErrorKind::kUsage,
                fmt::format("--cpus must be N replicas, or NxT for T threads each, as in 2 or 4x1; found '{}'", text));
  return {*replicas, *threads};
}

std::string parse_split(const std::string& text) {
  if (text == "even") return text;
  std::vector<std::string> weights;
  bool good = true;
  for (const std::string& part : split(text, ':')) {
    double weight = 0;
    const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), weight);
    good = good && error == std::errc() && rest == part.data() + part.size() && std::isfinite(weight) && weight >= 0;
    weights.push_back(part);
  }
  if (!good || weights.size() < 2)
    throw Error(ErrorKind::kUsage,
                fmt::format("--split must be even, or one weight per replica as in 2:1; found '{}'", text));
  return "[" + join(weights, ", ") + "]";
}

}  // namespace dptrain::cli
