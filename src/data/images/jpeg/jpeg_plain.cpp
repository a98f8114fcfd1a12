#include "data/images/jpeg/jpeg_plain.h"

#include <algorithm>
#include <array>
#include <vector>

#include "data/images/jpeg/jpeg_tables.h"
#include "kernels/cpu/jpeg_pixels.h"

namespace dptrain::data {
namespace {

using kernels::cpu::kJpegGroup;
using kernels::cpu::kJpegGroupSize;
using kernels::cpu::kJpegRowPad;

constexpr std::int64_t kBlockSide = 8;
constexpr std::int64_t kGroupSide = kBlockSide * kJpegGroup;
/// Rows and columns around a part whose chroma its pixels are made from.
constexpr std::int64_t kReach = 2;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Memory aligned for the kernels, which only grows.
template <class T>
class JpegBuffer {
 public:
  T* room_for(std::int64_t count) {
    constexpr std::size_t kAlign = 64 / sizeof(T);
    const auto size = static_cast<std::size_t>(count) + kAlign;
    if (data_.size() < size) data_.resize(size);
    const auto beyond = reinterpret_cast<std::uintptr_t>(data_.data()) / sizeof(T) % kAlign;
    return data_.data() + (kAlign - beyond) % kAlign;
  }

 private:
  std::vector<T> data_;
};

/// Samples of a component, of two rows of MCUs: row r of the image at r % rows.
struct Plane {
  std::uint8_t* samples = nullptr;
  std::int64_t stride = 0, rows = 0;
  std::uint8_t* row(std::int64_t r) const { return samples + r % rows * stride; }
};

/// MCUs of a row that are decoded at a time: a multiple of kJpegGroup, few enough for their coefficients and the tables
/// to stay in the first cache.
constexpr std::int64_t kPieceMcus = 16;
struct Piece {
  std::int64_t row, first, count;
};

/// What a thread keeps from one file to the next.
struct JpegRoom {
  JpegScanBytes scan;
  std::array<JpegTableSlot<kernels::cpu::JpegDcTable>, 3> dc;
  std::array<JpegTableSlot<kernels::cpu::JpegAcTable>, 3> ac;
  std::array<JpegBuffer<std::int16_t>, 3> coefficients, steps;
  std::array<JpegBuffer<std::uint8_t>, 3> samples;
  JpegBuffer<std::uint8_t> cb, cr;
};

/// One file on its way. Rows of MCUs are decoded one by one; pixels follow as soon as their chroma is there.
class PlainJpeg {
 public:
  PlainJpeg(const JpegHeader& header, const Window& part, ColorMode color, JpegRoom& room)
      : header_(header), part_(part), color_(color), room_(room) {
    colored_ = header.components == 3 && color != ColorMode::kGrayscale;
    left_ = part.left & ~std::int64_t{1};
    width_ = part.left + part.width - left_;
  }

  bool decode(Array& out) {
    const JpegComponent& luma = header_.component[0];
    if (!make_tables()) return false;
    make_planes();
    const std::int64_t row_height = kBlockSide * luma.down, mcu_rows = divide_up(header_.height, row_height);
    const std::int64_t first_row = std::max<std::int64_t>(part_.top - kReach, 0),
                       end_row = std::min(part_.top + part_.height + kReach, header_.height);
    const std::int64_t end = divide_up(end_row, row_height);
    next_row_ = part_.top;
    for (std::int64_t m = 0; m < end; ++m) {
      const bool wanted = (m + 1) * row_height > first_row;
      for (std::int64_t mcu = 0; mcu < mcus_; mcu += kPieceMcus) {
        const Piece piece{m, mcu, std::min(kPieceMcus, mcus_ - mcu)};
        const bool here = wanted && mcu < end_mcu_ && mcu + piece.count > first_mcu_;
        if (here) clear_coefficients();
        if (!decode_mcus(piece.count)) return false;
        if (here && !make_samples(piece)) return false;
      }
      if (!wanted) continue;
      pad_chroma(m);
      write_rows(m + 1 == mcu_rows ? header_.height : (m + 1) * row_height - (luma.down - 1), out);
    }
    return end < mcu_rows ? bits_used() <= bits_there() : interval_ + 1 == room_.scan.ends.size() && ends_well();
  }

 private:
  std::size_t components() const { return static_cast<std::size_t>(header_.components); }
  /// Those whose samples are wanted.
  std::size_t planes() const { return colored_ ? 3 : 1; }
  bool narrow_chroma() const { return header_.component[0].across == 2; }
  std::int64_t chroma_width() const { return divide_up(header_.width, header_.component[0].across); }
  std::int64_t chroma_height() const { return divide_up(header_.height, header_.component[0].down); }

  bool make_tables() {
    for (std::size_t c = 0; c < components(); ++c) {
      const JpegComponent& component = header_.component[c];
      kernels::cpu::JpegScanPart& part = parts_[c];
      part.dc = room_.dc[c].get(component.dc);
      const bool like_second = c == 2 && component.ac.counts.data() == header_.component[1].ac.counts.data();
      part.ac = like_second ? parts_[1].ac : room_.ac[c].get(component.ac);
      if (part.dc == nullptr || part.ac == nullptr) return false;
      part.across = static_cast<int>(component.across), part.down = static_cast<int>(component.down);
    }
    start_interval(0);
    return true;
  }

  void make_planes() {
    const JpegComponent& luma = header_.component[0];
    mcus_ = divide_up(header_.width, kBlockSide * luma.across);
    for (std::size_t c = 0; c < components(); ++c) {
      const JpegComponent& component = header_.component[c];
      const std::int64_t groups = divide_up(mcus_ * component.across, kJpegGroup);
      parts_[c].row_stride = kPieceMcus / kJpegGroup * component.across * kJpegGroupSize;
      parts_[c].coefficients = room_.coefficients[c].room_for(component.down * parts_[c].row_stride);
      planes_[c].stride = groups * kGroupSide + 2 * kJpegRowPad;
      planes_[c].rows = 2 * kBlockSide * component.down;
      planes_[c].samples = room_.samples[c].room_for(planes_[c].rows * planes_[c].stride) + kJpegRowPad;
      steps_[c] = room_.steps[c].room_for(kJpegGroupSize);
      kernels::cpu::lay_out_jpeg_steps(component.steps.data(), steps_[c]);
    }
    const std::int64_t width = kBlockSide * luma.across;
    first_mcu_ = std::max<std::int64_t>(left_ - kReach, 0) / width;
    end_mcu_ = divide_up(std::min(left_ + width_ + kReach, header_.width), width);
    cb_ = room_.cb.room_for(2 * chroma_width() + kJpegRowPad);
    cr_ = room_.cr.room_for(2 * chroma_width() + kJpegRowPad);
  }

  void clear_coefficients() {
    for (std::size_t c = 0; c < planes(); ++c)
      std::fill_n(parts_[c].coefficients, header_.component[c].down * parts_[c].row_stride, std::int16_t{0});
  }

  void start_interval(std::size_t interval) {
    interval_ = interval;
    const std::uint8_t* const bytes = room_.scan.bytes.data();
    interval_begin_ = interval == 0 ? 0 : room_.scan.ends[interval - 1];
    bits_ = {.next = bytes + interval_begin_, .end = bytes + room_.scan.ends.back()};
    for (kernels::cpu::JpegScanPart& part : parts_) part.prediction = 0;
    interval_left_ = header_.restart_interval;
  }

  std::size_t bits_used() const {
    return 8 * (static_cast<std::size_t>(bits_.next - room_.scan.bytes.data()) - interval_begin_) - bits_.count;
  }
  std::size_t bits_there() const { return 8 * (room_.scan.ends[interval_] - interval_begin_); }
  /// All of the interval is used, but for what fills its last byte.
  bool ends_well() const { return bits_used() <= bits_there() && bits_there() - bits_used() < 8; }

  /// The next ones.
  bool decode_mcus(std::int64_t wanted) {
    for (std::int64_t mcu = 0; mcu < wanted;) {
      std::int64_t count = wanted - mcu;
      if (header_.restart_interval > 0) {
        if (interval_left_ == 0) {
          if (!ends_well() || interval_ + 1 == room_.scan.ends.size()) return false;
          start_interval(interval_ + 1);
        }
        count = std::min(count, interval_left_);
        interval_left_ -= count;
      }
      if (!kernels::cpu::decode_jpeg_mcus(bits_, parts_.data(), header_.components, mcu, count)) return false;
      mcu += count;
    }
    return true;
  }

  bool make_samples(const Piece& piece) {
    bool sound = true;
    for (std::size_t c = 0; c < planes(); ++c) {
      const JpegComponent& component = header_.component[c];
      const std::int64_t groups = divide_up(piece.count * component.across, kJpegGroup);
      for (std::int64_t y = 0; y < component.down; ++y)
        sound &= kernels::cpu::jpeg_inverse_dct(
            parts_[c].coefficients + y * parts_[c].row_stride, groups, steps_[c],
            planes_[c].row((piece.row * component.down + y) * kBlockSide) + piece.first * component.across * kBlockSide,
            planes_[c].stride);
    }
    return sound;
  }

  /// What stands at an edge stands beside it, too, for row m of MCUs.
  void pad_chroma(std::int64_t m) {
    if (!narrow_chroma()) return;
    for (std::size_t c = 1; c < planes(); ++c)
      for (std::int64_t r = m * kBlockSide; r < (m + 1) * kBlockSide; ++r) {
        std::uint8_t* const samples = planes_[c].row(r);
        samples[-1] = samples[0];
        samples[chroma_width()] = samples[chroma_width() - 1];
      }
  }

  /// Chroma of row y from column left_ on.
  const std::uint8_t* chroma_row(std::size_t c, std::int64_t y, std::uint8_t* room) const {
    const Plane& plane = planes_[c];
    if (!narrow_chroma()) return plane.row(y) + left_;
    const std::int64_t first = left_ / 2, count = divide_up(width_, 2);
    if (header_.component[0].down == 1) {
      kernels::cpu::jpeg_double_row(plane.row(y) + first, count, room);
    } else {
      const std::int64_t near = y / 2,
                         far = std::clamp<std::int64_t>(near + (y % 2 == 0 ? -1 : 1), 0, chroma_height() - 1);
      kernels::cpu::jpeg_double_rows(plane.row(near) + first, plane.row(far) + first, count, room);
    }
    return room;
  }

  /// Those that are not written yet, up to `end`.
  void write_rows(std::int64_t end, Array& out) {
    const std::int64_t channels = out.shape[2], stride = out.shape[1] * channels;
    for (end = std::min(end, part_.top + part_.height); next_row_ < end; ++next_row_) {
      const std::uint8_t* const luma = planes_[0].row(next_row_) + left_;
      std::uint8_t* const to = out.u8.data() + next_row_ * stride + left_ * channels;
      if (colored_) {
        kernels::cpu::jpeg_color_row(luma, chroma_row(1, next_row_, cb_), chroma_row(2, next_row_, cr_), width_,
                                     static_cast<int>(channels), to);
      } else {
        convert_pixels(luma, width_, 1, color_, to);
      }
    }
  }

  const JpegHeader& header_;
  Window part_;
  ColorMode color_;
  JpegRoom& room_;
  bool colored_ = false;
  std::int64_t left_ = 0, width_ = 0;         ///< the part's columns, from an even one on
  std::int64_t mcus_ = 0;                     ///< in a row
  std::int64_t first_mcu_ = 0, end_mcu_ = 0;  ///< of those, what the part needs
  std::int64_t next_row_ = 0;                 ///< of pixels, to be written
  std::array<kernels::cpu::JpegScanPart, 3> parts_{};
  std::array<Plane, 3> planes_{};
  std::array<std::int16_t*, 3> steps_{};
  std::uint8_t* cb_ = nullptr;
  std::uint8_t* cr_ = nullptr;
  kernels::cpu::JpegBits bits_{};
  std::size_t interval_ = 0, interval_begin_ = 0;
  std::int64_t interval_left_ = 0;
};

/// What libjpeg would decode smaller.
bool wants_less(const DecodeOptions& options, std::int64_t height, std::int64_t width, bool swaps) {
  const std::int64_t least_height = swaps ? options.least_width : options.least_height;
  const std::int64_t least_width = swaps ? options.least_height : options.least_width;
  return (least_height > 0 || least_width > 0) && divide_up(height, 2) >= least_height &&
         divide_up(width, 2) >= least_width;
}

bool is_inside(const Window& part, std::int64_t height, std::int64_t width) {
  return part.top >= 0 && part.left >= 0 && part.height > 0 && part.width > 0 && part.top + part.height <= height &&
         part.left + part.width <= width;
}

}  // namespace

bool decode_plain_jpeg(ImageBytes file, const DecodeOptions& options, Array& out) {
  thread_local JpegRoom room;
  JpegHeader header;
  if (!read_jpeg_header(file, header)) return false;
  const std::int64_t height = header.height, width = header.width;
  if (width > kMostPixels / height || height * width / kJpegPixelsPerByte > static_cast<std::int64_t>(file.size()))
    return false;
  // Of two columns libjpeg interpolates nothing.
  if (header.component[0].across == 2 && divide_up(width, 2) <= 2) return false;
  const int orientation = options.rotate ? header.orientation : 1;
  if (wants_less(options, height, width, swaps_axes(orientation))) return false;
  if (!read_jpeg_scan(file, header.scan, room.scan)) return false;

  out.shape = Shape{height, width, channels_of(options.color)};
  Window part{0, 0, height, width};
  if (options.part && orientation == 1) {
    const Window window = options.part(out.shape);
    if (is_inside(window, height, width)) part = window;
  }
  out.u8.resize(static_cast<std::size_t>(out.shape.elements()));
  if (!PlainJpeg(header, part, options.color, room).decode(out)) return false;
  apply_orientation(orientation, out);
  return true;
}

}  // namespace dptrain::data
