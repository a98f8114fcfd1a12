#include "backend/test_devices.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "backend/emu/emu_runtime.h"
#include "kernels/cuda/simt.h"
#include "support/sanitizer.h"

namespace dptrain::test {
namespace {

/// Whether the variable's list contains this device; `absent`: the result if the variable is not set. An unknown name
/// fails the test.
bool listed(const char* variable, const std::string& device, bool absent) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return absent;
  std::istringstream names(value);
  bool found = false;
  for (std::string name; std::getline(names, name, ',');) {
    EXPECT_TRUE(name == "cpu" || name == "emu" || name == "cuda") << variable << ": '" << name << "' is not a device";
    found = found || name == device;
  }
  return found;
}
bool required(const std::string& device) { return listed("DPTRAIN_REQUIRE_DEVICES", device, false); }
bool wanted(const std::string& device) {
  // Under ThreadSanitizer these tests are for the kernels of GPUs. tests/kernels tests those of the CPU.
  const bool by_default = !kThreadSanitizer || device != "cpu";
  return listed("DPTRAIN_TEST_DEVICES", device, by_default) || required(device);
}

bool cuda_is_present() {
  static const bool present = !backend::list_cuda().empty();
  return present;
}

/// Reports the number of tests that did not run on a GPU once.
class Absent final : public testing::Environment {
 public:
  void count() {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    if (test != nullptr) tests_.insert(std::string(test->test_suite_name()) + "." + test->name());
    if (required("cuda")) ADD_FAILURE() << "DPTRAIN_REQUIRE_DEVICES asks for cuda, and there is no GPU";
  }
  void TearDown() override {
    if (!tests_.empty()) std::printf("cuda: absent (%zu tests skipped)\n", tests_.size());
  }

 private:
  std::set<std::string> tests_;
};
Absent* const kAbsent = static_cast<Absent*>(testing::AddGlobalTestEnvironment(new Absent));  // gtest deletes it

}  // namespace

Devices gpus(backend::RuntimeOptions options) {
  options.tf32 = false;
  Devices all;
  if (wanted("emu")) all.push_back(backend::make_emu_device(0, options));
  if (!wanted("cuda")) return all;
  if (cuda_is_present())
    all.push_back(backend::make_cuda_device(0, options));
  else
    kAbsent->count();
  return all;
}

Devices devices(backend::RuntimeOptions options) {
  Devices all;
  if (wanted("cpu") && options.compute == DType::kF32)
    for (const int threads : {1, 3}) all.push_back(backend::make_cpu_device(0, threads, options));
  for (auto& gpu : gpus(options)) all.push_back(std::move(gpu));
  return all;
}

void shuffle() {
  static const std::uint64_t base = simt::seed();
  static std::uint64_t draws = 0;
  backend::emu::reseed(base + ++draws);
}

}  // namespace dptrain::test
