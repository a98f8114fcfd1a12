#include "data/images/jpeg/jpeg_tables.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace dptrain::data {
namespace {

using kernels::cpu::JpegAcCode;
using kernels::cpu::JpegAcTable;
using kernels::cpu::JpegDcTable;
using kernels::cpu::JpegLongCodes;
using kernels::cpu::kJpegAcBits;
using kernels::cpu::kJpegDcBits;
using kernels::cpu::kJpegEndOfBlock;

/// Calls f(bits, code, symbol) for all codes, shortest first. false: they do not fit in their bits, or one is all ones.
template <class F>
bool each_code(const JpegCodes& codes, JpegLongCodes& longer, const F& f) {
  longer = {};
  std::copy(codes.symbols.begin(), codes.symbols.end(), longer.symbols);
  unsigned code = 0;
  int index = 0;
  for (int bits = 1; bits <= kernels::cpu::kJpegLongestCode; ++bits, code <<= 1) {
    longer.offset[bits] = index - static_cast<int>(code);
    for (int left = codes.counts[static_cast<std::size_t>(bits - 1)]; left > 0; --left)
      f(bits, code++, codes.symbols[static_cast<std::size_t>(index++)]);
    if (code >= 1U << bits) return false;
    longer.limit[bits] = code << (kernels::cpu::kJpegLongestCode - bits);
  }
  return true;
}

/// The entries of a table of 2^index_bits that begin with a code.
template <class Entry>
std::span<Entry> entries_of(Entry* table, int index_bits, int bits, unsigned code) {
  return {table + (static_cast<std::size_t>(code) << (index_bits - bits)), std::size_t{1} << (index_bits - bits)};
}

/// A code with its value: what it adds to the place in the block, and bits.
struct AcStep {
  std::uint8_t code_bits = 0, size = 0, run = 0;
  int bits() const { return code_bits + size; }
};

AcStep ac_step(int bits, std::uint8_t symbol) {
  constexpr int kMostZeros = 15;
  const int size = symbol & 15, zeros = symbol >> 4;
  return {.code_bits = static_cast<std::uint8_t>(bits),
          .size = static_cast<std::uint8_t>(size),
          .run = static_cast<std::uint8_t>(size != 0 || zeros == kMostZeros ? zeros + 1 : kJpegEndOfBlock)};
}

constexpr unsigned kEntries = 1U << kJpegAcBits;
using AcSteps = std::array<AcStep, kEntries>;

/// The value that stands in the lowest `size` bits.
int value_of(unsigned bits, int size) {
  const int value = static_cast<int>(bits & ((1U << size) - 1));
  return size != 0 && value >> (size - 1) == 0 ? value - (1 << size) + 1 : value;
}

/// What the table says of the bits `i`.
JpegAcCode ac_code(const AcSteps& steps, unsigned i) {
  constexpr int kMostSecond = 7;  // bits of a value that fits in a byte
  const AcStep first = steps[i];
  const int used = first.bits(), left = kJpegAcBits - used;
  if (first.code_bits == 0 || used > kernels::cpu::kJpegMostAcBits) return {};
  JpegAcCode code{.bits = static_cast<std::uint8_t>(used),
                  .first_bits = static_cast<std::uint8_t>(used),
                  .code_bits = first.code_bits,
                  .shift = static_cast<std::uint8_t>(63 - first.size),
                  .first_run = first.run,
                  .run = first.run,
                  .second_place = first.run,
                  .second_value = 0};
  if (first.run == kJpegEndOfBlock || left <= 0) return code;
  const AcStep second = steps[(i << used) % kEntries];
  if (second.code_bits == 0 || second.bits() > left || second.size > kMostSecond) return code;
  code.bits = static_cast<std::uint8_t>(used + second.bits());
  code.run = static_cast<std::uint8_t>(first.run + second.run);
  code.second_place = static_cast<std::uint8_t>(code.run - 1);
  code.second_value = static_cast<std::int8_t>(value_of(i >> (left - second.bits()), second.size));
  return code;
}

}  // namespace

bool make_jpeg_table(const JpegCodes& codes, JpegDcTable& table) {
  constexpr std::uint8_t kMostBits = 15;
  std::fill(std::begin(table.codes), std::end(table.codes), kernels::cpu::JpegDcCode{});
  bool sizes = true;
  return each_code(codes, table.longer,
                   [&](int bits, unsigned code, std::uint8_t symbol) {
                     sizes = sizes && symbol <= kMostBits;
                     if (bits > kJpegDcBits || code >> bits != 0) return;
                     for (auto& entry : entries_of(table.codes, kJpegDcBits, bits, code))
                       entry = {.bits = static_cast<std::uint8_t>(bits), .size = symbol};
                   }) &&
         sizes;
}

bool make_jpeg_table(const JpegCodes& codes, JpegAcTable& table) {
  AcSteps steps{};
  if (!each_code(codes, table.longer, [&](int bits, unsigned code, std::uint8_t symbol) {
        if (bits > kJpegAcBits || code >> bits != 0) return;
        const auto entries = entries_of(steps.data(), kJpegAcBits, bits, code);
        std::fill(entries.begin(), entries.end(), ac_step(bits, symbol));
      }))
    return false;
  for (unsigned i = 0; i < kEntries; ++i) table.codes[i] = ac_code(steps, i);
  return true;
}

bool read_jpeg_scan(ImageBytes file, std::size_t first, JpegScanBytes& scan) {
  constexpr std::uint8_t kMarkerStart = 0xFF, kRestart = 0xD0, kEndOfImage = 0xD9;
  constexpr std::size_t kRestarts = 8;
  scan.ends.clear();
  if (first >= file.size()) return false;
  const std::size_t room = file.size() - first + kernels::cpu::kJpegScanPad;
  if (scan.bytes.size() < room) scan.bytes.resize(room);
  std::uint8_t* to = scan.bytes.data();
  const std::uint8_t* from = file.data() + first;
  const std::uint8_t* const end = file.data() + file.size();
  while (true) {
    const auto left = static_cast<std::size_t>(end - from);
    const auto* const mark = static_cast<const std::uint8_t*>(std::memchr(from, kMarkerStart, left));
    if (mark == nullptr || end - mark < 2) return false;
    const auto plain = static_cast<std::size_t>(mark - from);
    std::memcpy(to, from, plain);
    to += plain;
    from = mark + 2;
    if (mark[1] == 0) {
      *to++ = kMarkerStart;
      continue;
    }
    const std::size_t interval = scan.ends.size();
    scan.ends.push_back(static_cast<std::size_t>(to - scan.bytes.data()));
    if (mark[1] == kEndOfImage) return true;
    if (mark[1] != kRestart + interval % kRestarts) return false;
  }
}

}  // namespace dptrain::data
