#include "core/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace dptrain {
namespace {

std::uintptr_t address(const MappedMemory& memory) { return reinterpret_cast<std::uintptr_t>(memory.data()); }

/// The kernel's flags of the mapping at an address ("rd wr mr mw me ac hg"); "" if not available.
std::string flags_of(std::uintptr_t place) {
  std::ifstream maps("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &begin, &end) == 2) is_here = begin <= place && place < end;
    if (is_here && line.starts_with("VmFlags:")) return line;
  }
  return {};
}

TEST(MappedMemory, IsZeroAndWritableToItsEnd) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, kHugePage - 1, kHugePage, 3 * kHugePage + 5000}) {
    const MappedMemory memory(bytes);
    EXPECT_EQ(memory.bytes(), bytes);
    char* const first = static_cast<char*>(memory.data());
    for (std::size_t i = 0; i < bytes; i += 97) ASSERT_EQ(first[i], 0);
    first[bytes - 1] = 1;
  }
}

TEST(MappedMemory, BeginsAtAPageOrHugePage) {
  // Several at once, which the kernel maps next to each other.
  const MappedMemory small(5000), large(kHugePage), odd(2 * kHugePage + 4096), another(kHugePage + 1);
  EXPECT_EQ(address(small) % 4096, 0U);
  EXPECT_EQ(address(large) % kHugePage, 0U);
  EXPECT_EQ(address(odd) % kHugePage, 0U);
  EXPECT_EQ(address(another) % kHugePage, 0U);
}

TEST(MappedMemory, RequestsHugePages) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) GTEST_SKIP() << "a system without huge pages";
  const MappedMemory memory(2 * kHugePage);
  const std::string flags = flags_of(address(memory));
  if (flags.empty()) GTEST_SKIP() << "not reported by the system";
  EXPECT_NE(flags.find(" hg"), std::string::npos) << flags;
}

TEST(MappedMemory, AcceptsZeroBytesAndThrowsForTooMany) {
  const MappedMemory nothing(0);
  EXPECT_NE(nothing.data(), nullptr);
  EXPECT_THROW(MappedMemory(std::numeric_limits<std::size_t>::max() / 4), std::system_error);
}

}  // namespace
}  // namespace dptrain
