#include "data/images/jpeg/jpeg_tables.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

namespace dptrain::data {
namespace {

constexpr std::uint8_t kMarkerStart = 0xFF, kStartOfImage = 0xD8, kStartOfScan = 0xDA, kQuantisation = 0xDB,
                       kHuffman = 0xC4, kRestartInterval = 0xDD, kBaseline = 0xC0, kExtended = 0xC1, kApp0 = 0xE0,
                       kApp1 = 0xE1, kApp14 = 0xEE, kApp15 = 0xEF, kComment = 0xFE;
constexpr std::int64_t kMostSide = 65500;  // libjpeg's limit
constexpr std::size_t kJfifBytes = 14, kAdobeBytes = 12, kAdobeTransform = 11;
constexpr std::uint8_t kAdobeYcc = 1;

std::size_t big_endian_16(ImageBytes bytes) { return static_cast<std::size_t>(bytes[0] << 8 | bytes[1]); }

bool begins_with(ImageBytes bytes, std::string_view word) {
  return bytes.size() >= word.size() && std::equal(word.begin(), word.end(), bytes.begin());
}

/// Reads the segments of one file in order.
class HeaderReader {
 public:
  HeaderReader(ImageBytes file, JpegHeader& header) : file_(file), header_(header) {}

  bool read() {
    if (file_.size() < 4 || file_[0] != kMarkerStart || file_[1] != kStartOfImage) return false;
    for (std::size_t at = 2; at + 4 <= file_.size();) {
      if (file_[at] != kMarkerStart) return false;
      const std::uint8_t marker = file_[at + 1];
      const std::size_t length = big_endian_16(file_.subspan(at + 2));  // includes its own two bytes
      if (length < 2 || length > file_.size() - at - 2) return false;
      const ImageBytes payload = file_.subspan(at + 4, length - 2);
      at += 2 + length;
      if (marker == kStartOfScan) {
        header_.scan = at;
        return is_ycc() && read_scan(payload);
      }
      if (!read_segment(marker, payload)) return false;
    }
    return false;
  }

 private:
  struct FrameComponent {
    std::uint8_t id = 0;
    std::uint8_t table = 0;
  };

  bool read_segment(std::uint8_t marker, ImageBytes payload) {
    switch (marker) {
      case kBaseline:
      case kExtended: return read_frame(payload);
      case kQuantisation: return read_steps(payload);
      case kHuffman: return read_codes(payload);
      case kRestartInterval:
        if (payload.size() != 2) return false;
        header_.restart_interval = static_cast<std::int64_t>(big_endian_16(payload));
        return true;
      default: break;
    }
    if (marker == kApp0 && payload.size() >= kJfifBytes && begins_with(payload, std::string_view("JFIF\0", 5)))
      jfif_ = true;
    if (marker == kApp14 && payload.size() >= kAdobeBytes && begins_with(payload, "Adobe")) {
      adobe_ = true;
      adobe_transform_ = payload[kAdobeTransform];
    }
    if (marker == kApp1 && header_.orientation == 1) header_.orientation = exif_orientation(payload);
    return marker == kComment || (marker >= kApp0 && marker <= kApp15);
  }

  bool read_frame(ImageBytes payload) {
    constexpr std::size_t kFixed = 6, kEach = 3;
    if (header_.components != 0 || payload.size() < kFixed || payload[0] != 8) return false;
    header_.height = static_cast<std::int64_t>(big_endian_16(payload.subspan(1)));
    header_.width = static_cast<std::int64_t>(big_endian_16(payload.subspan(3)));
    const std::size_t count = payload[5];
    if ((count != 1 && count != 3) || payload.size() != kFixed + kEach * count) return false;
    if (std::min(header_.height, header_.width) < 1 || std::max(header_.height, header_.width) > kMostSide)
      return false;
    header_.components = static_cast<int>(count);
    for (std::size_t c = 0; c < count; ++c) {
      const ImageBytes entry = payload.subspan(kFixed + kEach * c, kEach);
      frame_[c] = {.id = entry[0], .table = entry[2]};
      header_.component[c].across = entry[1] >> 4;
      header_.component[c].down = entry[1] & 15;
    }
    return takes_samplings();
  }

  /// Accepts 4:4:4, 4:2:2 and 4:2:0. The sampling factors of a single component have no effect.
  bool takes_samplings() {
    auto& [luma, cb, cr] = header_.component;
    if (header_.components == 1) {
      if (luma.across < 1 || luma.across > 4 || luma.down < 1 || luma.down > 4) return false;
      luma.across = luma.down = 1;
      return true;
    }
    if (cb.across != 1 || cb.down != 1 || cr.across != 1 || cr.down != 1) return false;
    return (luma.across == 1 && luma.down == 1) || (luma.across == 2 && (luma.down == 1 || luma.down == 2));
  }

  bool read_steps(ImageBytes payload) {
    constexpr std::size_t kBytes = 1 + 64;  // 8 bits each
    for (; !payload.empty(); payload = payload.subspan(kBytes)) {
      if (payload.size() < kBytes || payload[0] >= steps_.size()) return false;
      steps_[payload[0]] = payload.subspan(1, 64);
    }
    return true;
  }

  bool read_codes(ImageBytes payload) {
    constexpr std::size_t kCounts = 16;
    while (!payload.empty()) {
      if (payload.size() < 1 + kCounts) return false;
      const std::size_t kind = payload[0] >> 4, index = payload[0] & 15;
      const ImageBytes counts = payload.subspan(1, kCounts);
      std::size_t symbols = 0;
      for (const std::uint8_t count : counts) symbols += count;
      payload = payload.subspan(1 + kCounts);
      if (kind > 1 || index > 3 || symbols > 256 || symbols > payload.size()) return false;
      (kind == 0 ? dc_ : ac_)[index] = {.counts = counts, .symbols = payload.first(symbols)};
      payload = payload.subspan(symbols);
    }
    return true;
  }

  /// Whether libjpeg treats the file as gray or YCbCr.
  bool is_ycc() const {
    if (header_.components != 3 || jfif_) return header_.components != 0;
    if (adobe_) return adobe_transform_ == kAdobeYcc;
    return frame_[0].id == 1 && frame_[1].id == 2 && frame_[2].id == 3;
  }

  bool read_scan(ImageBytes payload) {
    const auto count = static_cast<std::size_t>(header_.components);
    if (payload.size() != 4 + 2 * count || payload[0] != count) return false;
    const ImageBytes last = payload.last(3);
    if (last[0] != 0 || last[1] != 63 || last[2] != 0) return false;  // not progressive
    for (std::size_t c = 0; c < count; ++c) {
      const ImageBytes entry = payload.subspan(1 + 2 * c, 2);
      const std::size_t dc = entry[1] >> 4, ac = entry[1] & 15, table = frame_[c].table;
      for (std::size_t other = 0; other < c; ++other)
        if (frame_[other].id == frame_[c].id) return false;
      if (entry[0] != frame_[c].id || dc > 3 || ac > 3 || table > 3 || steps_[table].empty()) return false;
      JpegComponent& component = header_.component[c];
      std::copy(steps_[table].begin(), steps_[table].end(), component.steps.begin());
      component.dc = dc_[dc];
      component.ac = ac_[ac];
      if (component.dc.counts.empty() || component.ac.counts.empty()) return false;
    }
    return true;
  }

  ImageBytes file_;
  JpegHeader& header_;
  std::array<FrameComponent, 3> frame_;
  std::array<ImageBytes, 4> steps_;
  std::array<JpegCodes, 4> dc_, ac_;
  bool jfif_ = false, adobe_ = false;
  std::uint8_t adobe_transform_ = 0;
};

}  // namespace

bool read_jpeg_header(ImageBytes file, JpegHeader& header) {
  header = {};
  return HeaderReader(file, header).read();
}

namespace {

using kernels::cpu::JpegAcCode;
using kernels::cpu::JpegAcTable;
using kernels::cpu::JpegDcTable;
using kernels::cpu::JpegLongCodes;
using kernels::cpu::kJpegAcBits;
using kernels::cpu::kJpegDcBits;
using kernels::cpu::kJpegEndOfBlock;

/// Calls f(bits, code, symbol) for all codes, shortest first. false: a code exceeds its length or is all ones.
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

/// The entries of a table of 2^index_bits whose index begins with `code`.
template <class Entry>
std::span<Entry> entries_of(Entry* table, int index_bits, int bits, unsigned code) {
  return {table + (static_cast<std::size_t>(code) << (index_bits - bits)), std::size_t{1} << (index_bits - bits)};
}

/// An AC code and its value: their lengths in bits, and the advance in the block.
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

/// The signed value that the lowest `size` bits encode.
int value_of(unsigned bits, int size) {
  const int value = static_cast<int>(bits & ((1U << size) - 1));
  return size != 0 && value >> (size - 1) == 0 ? value - (1 << size) + 1 : value;
}

/// Table entry for the next kJpegAcBits bits `i`: one code, or two if both fit.
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
