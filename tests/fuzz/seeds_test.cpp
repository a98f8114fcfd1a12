// Runs the entry points of the fuzz targets on their seeds and on small changes of them, in every build with
// sanitizers. libFuzzer itself, which searches new paths, runs in the nightly tier.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "support/test_data.h"
#include "support/tier.h"

extern "C" {
int dptrain_fuzz_checkpoint(const std::uint8_t* data, std::size_t size);
int dptrain_fuzz_config(const std::uint8_t* data, std::size_t size);
int dptrain_fuzz_csv(const std::uint8_t* data, std::size_t size);
int dptrain_fuzz_idx(const std::uint8_t* data, std::size_t size);
int dptrain_fuzz_image(const std::uint8_t* data, std::size_t size);
int dptrain_fuzz_text(const std::uint8_t* data, std::size_t size);
int dptrain_fuzz_weights(const std::uint8_t* data, std::size_t size);
}

namespace dptrain::test {
namespace {

namespace fs = std::filesystem;

struct Target {
  const char* name;
  int (*entry)(const std::uint8_t* data, std::size_t size);
  int changes;  ///< per seed, in change tests
};

constexpr Target kTargets[] = {{"checkpoint", dptrain_fuzz_checkpoint, 200},
                               {"config", dptrain_fuzz_config, 100},
                               {"csv", dptrain_fuzz_csv, 200},
                               {"idx", dptrain_fuzz_idx, 200},
                               {"image", dptrain_fuzz_image, 100},
                               {"text", dptrain_fuzz_text, 200},
                               {"weights", dptrain_fuzz_weights, 200}};

using Bytes = std::vector<std::uint8_t>;

class Seeds : public ::testing::TestWithParam<Target> {
 protected:
  /// Sorted, independent of the file system.
  static std::vector<fs::path> files() {
    std::vector<fs::path> all;
    for (const fs::directory_entry& entry :
         fs::directory_iterator(test_data(std::string("fuzz/corpus/") + GetParam().name)))
      all.push_back(entry.path());
    std::sort(all.begin(), all.end());
    return all;
  }
  static Bytes read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// Copies the input to memory of its exact length, so that reads beyond it are detected.
  static void run(const Bytes& input) { GetParam().entry(Bytes(input).data(), input.size()); }
};

std::size_t below(std::mt19937& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

/// Applies one to four changes: a bit, a byte, an extreme byte, a piece removed, a piece repeated, truncation.
Bytes changed(Bytes bytes, std::mt19937& random) {
  for (std::size_t times = 1 + below(random, 4); times > 0 && !bytes.empty(); --times) {
    const std::size_t at = below(random, bytes.size());
    const std::size_t length = 1 + below(random, std::min<std::size_t>(bytes.size() - at, 64));
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at),
               end = place + static_cast<std::ptrdiff_t>(length);
    constexpr std::uint8_t kEdges[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};
    switch (below(random, 6)) {
      case 0: *place ^= static_cast<std::uint8_t>(1U << below(random, 8)); break;
      case 1: *place = static_cast<std::uint8_t>(random()); break;
      case 2: *place = kEdges[below(random, std::size(kEdges))]; break;
      case 3: bytes.erase(place, end); break;
      case 4: {
        const Bytes piece(place, end);
        bytes.insert(place, piece.begin(), piece.end());
        break;
      }
      case 5: bytes.resize(at); break;
    }
  }
  return bytes;
}

TEST_P(Seeds, AreReadOrRejected) {
  ASSERT_FALSE(files().empty());
  for (const fs::path& path : files()) run(read(path));
}

TEST_P(Seeds, SmallChangesAreReadOrRejected) {
  std::mt19937 random(tier::case_seed(1));
  for (const fs::path& path : files()) {
    const Bytes seed = read(path);
    for (int i = tier::how_many(GetParam().changes, 10 * GetParam().changes); i > 0; --i) run(changed(seed, random));
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Seeds, ::testing::ValuesIn(kTargets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace dptrain::test
