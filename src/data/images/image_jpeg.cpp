#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>  // FILE, for jpeglib.h

#include <jpeglib.h>

#include <jerror.h>

#include "core/format.h"
#include "core/text.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

/// Huffman coding takes at least one bit per block of 8 x 8 pixels. Arithmetic coding has no such bound; its limit
/// prevents a small file from allocating a huge image.
constexpr std::int64_t kJpegPixelsPerByte = 64 * 8, kArithmeticPixelsPerByte = 16 * kJpegPixelsPerByte;
constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr unsigned kMaxMarkerBytes = 0xFFFF;
/// Usually ten. Each scan of a progressive file decodes the whole image, so a small file could take hours.
constexpr int kMaxScans = 100;
/// Pixels around a part to decode: color is interpolated from neighbors in a coarser grid.
constexpr std::int64_t kMargin = 4;
constexpr std::array<unsigned, 4> kScales{8, 4, 2, 1};

/// Error manager of libjpeg. error_exit must not return, and exceptions must not pass through C, so it calls longjmp().
struct Failure {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  std::array<char, JMSG_LENGTH_MAX> words;
};

Failure& failure_of(j_common_ptr jpeg) { return *reinterpret_cast<Failure*>(jpeg->err); }

[[noreturn]] void fail(j_common_ptr jpeg) {
  Failure& failure = failure_of(jpeg);
  failure.base.format_message(jpeg, failure.words.data());
  std::longjmp(failure.jump, 1);
}

/// Treats warnings about lost or guessed pixels as errors, and ignores other warnings.
void fail_on_lost_pixels(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: fail(jpeg);
    default: return;
  }
}

void ignore_message(j_common_ptr) {}
void need_nothing(j_decompress_ptr) {}

boolean past_the_end(j_decompress_ptr jpeg) {
  jpeg->src->next_input_byte += jpeg->src->bytes_in_buffer;
  jpeg->src->bytes_in_buffer = 0;
  jpeg->err->msg_code = JWRN_JPEG_EOF;
  fail(reinterpret_cast<j_common_ptr>(jpeg));
}

void skip_bytes(j_decompress_ptr jpeg, long count) {
  if (count <= 0) return;
  if (static_cast<std::size_t>(count) > jpeg->src->bytes_in_buffer) past_the_end(jpeg);
  jpeg->src->next_input_byte += count;
  jpeg->src->bytes_in_buffer -= static_cast<std::size_t>(count);
}

void count_scans(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMaxScans) return;
  Failure& failure = failure_of(jpeg);
  std::snprintf(failure.words.data(), failure.words.size(), "more than %d scans", kMaxScans);
  std::longjmp(failure.jump, 1);
}

std::uint8_t product(unsigned a, unsigned b) {  // a * b / 255, rounded
  const unsigned t = a * b + 128;
  return static_cast<std::uint8_t>(((t >> 8) + t) >> 8);
}

/// Converts CMYK to RGB in place. Files with an Adobe marker store 255 - ink.
void cmyk_to_rgb(std::uint8_t* row, std::int64_t pixels, bool inverted) {
  const unsigned flip = inverted ? 0 : 255;
  for (std::int64_t i = 0; i < pixels; ++i) {
    const std::uint8_t* const cmyk = row + 4 * i;
    const unsigned k = cmyk[3] ^ flip, c = cmyk[0] ^ flip, m = cmyk[1] ^ flip, y = cmyk[2] ^ flip;
    std::uint8_t* const rgb = row + 3 * i;
    rgb[0] = product(c, k), rgb[1] = product(m, k), rgb[2] = product(y, k);
  }
}

/// Decodes one file. Code inside guarded() must not own resources: longjmp() skips destructors.
class JpegFile {
 public:
  explicit JpegFile(ImageBytes file) : file_(file) {
    jpeg_.err = jpeg_std_error(&failure_.base);
    failure_.base.error_exit = fail;
    failure_.base.emit_message = fail_on_lost_pixels;
    failure_.base.output_message = ignore_message;
    source_.init_source = source_.term_source = need_nothing;
    source_.fill_input_buffer = past_the_end;
    source_.skip_input_data = skip_bytes;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.next_input_byte = file.data();
    source_.bytes_in_buffer = file.size();
    progress_.progress_monitor = count_scans;
  }
  ~JpegFile() { jpeg_destroy_decompress(&jpeg_); }
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;

  void read_header(bool want_exif) {
    guarded([&] {
      jpeg_create_decompress(&jpeg_);
      jpeg_.src = &source_;
      jpeg_.progress = &progress_;
      if (want_exif) jpeg_save_markers(&jpeg_, kExifMarker, kMaxMarkerBytes);
      jpeg_read_header(&jpeg_, TRUE);
    });
    const std::int64_t height = jpeg_.image_height, width = jpeg_.image_width;
    check_pixels(height, width, position());
    const std::int64_t most = jpeg_.arith_code == FALSE ? kJpegPixelsPerByte : kArithmeticPixelsPerByte;
    if (height * width / most > static_cast<std::int64_t>(file_.size()))
      throw ImageError(static_cast<std::int64_t>(file_.size()),
                       fmt::format("truncated: an image of {} x {} pixels needs more bytes", width, height));
  }

  int orientation() const {
    for (jpeg_saved_marker_ptr marker = jpeg_.marker_list; marker != nullptr; marker = marker->next)
      if (const int found = exif_orientation({marker->data, marker->data_length}); found != 1) return found;
    return 1;
  }

  /// Chooses the smallest scale of 1, 1/2, 1/4, 1/8 with at least this size; 0, 0: 1.
  void choose_scale(std::int64_t height, std::int64_t width) {
    if (height < 1 && width < 1) return;
    for (const unsigned scale : kScales) {
      jpeg_.scale_num = 1, jpeg_.scale_denom = scale;
      guarded([&] { jpeg_calc_output_dimensions(&jpeg_); });
      if (jpeg_.output_height >= height && jpeg_.output_width >= width) return;
    }
  }

  /// Sets the part to decode (DecodeOptions::part), only for unscaled, complete baseline files that are not CMYK.
  void choose_part(const std::function<Window(const Shape&)>& part, ColorMode color) {
    if (!part || !is_baseline() || is_cmyk() || jpeg_.scale_denom != 1 || !has_end()) return;
    const std::int64_t height = jpeg_.image_height, width = jpeg_.image_width;
    const Window window = part(Shape{height, width, channels_of(color)});
    if (window.height > 0 && window.width > 0 && (window.height < height || window.width < width)) part_ = window;
  }

  void decode(ColorMode color, Array& out) {
    jpeg_.out_color_space = is_cmyk()                   ? JCS_CMYK
                            : color == ColorMode::kRgb  ? JCS_RGB
                            : color == ColorMode::kRgba ? JCS_EXT_RGBA
                                                        : JCS_GRAYSCALE;
    guarded([&] { jpeg_start_decompress(&jpeg_); });
    out.shape = Shape{jpeg_.output_height, jpeg_.output_width, channels_of(color)};
    out.u8.resize(static_cast<std::size_t>(out.shape.elements()));
    if (part_.height > 0) return read_part(out);
    is_cmyk() ? read_cmyk(color, out.u8.data())
              : read_rows(out.u8.data(), out.shape[1] * out.shape[2], jpeg_.output_height);
    guarded([&] { jpeg_finish_decompress(&jpeg_); });
  }

 private:
  template <class F>
  [[gnu::noinline]] void guarded(const F& f) {
    if (setjmp(failure_.jump) != 0) throw ImageError(position(), failure_.words.data());
    f();
  }

  bool is_cmyk() const { return jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK; }

  bool has_end() const {
    constexpr std::size_t kTail = 64;  // some encoders append padding
    const ImageBytes tail = file_.last(std::min(kTail, file_.size()));
    constexpr std::array<std::uint8_t, 2> kEnd{0xFF, JPEG_EOI};
    return std::search(tail.begin(), tail.end(), kEnd.begin(), kEnd.end()) != tail.end();
  }

  bool is_baseline() {
    return jpeg_.progressive_mode == FALSE && jpeg_.arith_code == FALSE && jpeg_.data_precision == 8 &&
           jpeg_has_multiple_scans(&jpeg_) == FALSE;
  }

  /// Decodes part_ and its margin to their position in `out`. Other pixels are not written.
  void read_part(Array& out) {
    const std::int64_t channels = out.shape[2], stride = out.shape[1] * channels;
    const auto top = static_cast<JDIMENSION>(std::max<std::int64_t>(part_.top - kMargin, 0));
    auto left = static_cast<JDIMENSION>(std::max<std::int64_t>(part_.left - kMargin, 0));
    auto width = static_cast<JDIMENSION>(std::min(part_.left + part_.width + kMargin, out.shape[1])) - left;
    guarded([&] {
      if (width < jpeg_.output_width) jpeg_crop_scanline(&jpeg_, &left, &width);
      if (top > 0) jpeg_skip_scanlines(&jpeg_, top);
    });
    read_rows(out.u8.data() + left * channels, stride, static_cast<JDIMENSION>(part_.top + part_.height));
  }

  /// Decodes up to row `end`, row r to `out` + r * stride.
  void read_rows(std::uint8_t* out, std::int64_t stride, JDIMENSION end) {
    guarded([&] {
      while (jpeg_.output_scanline < end) {
        std::array<JSAMPROW, 16> rows;
        const JDIMENSION first = jpeg_.output_scanline;
        const JDIMENSION count = std::min<JDIMENSION>(rows.size(), end - first);
        for (JDIMENSION i = 0; i < count; ++i) rows[i] = out + (first + i) * stride;
        jpeg_read_scanlines(&jpeg_, rows.data(), count);
      }
    });
  }

  void read_cmyk(ColorMode color, std::uint8_t* out) {
    const std::int64_t width = jpeg_.output_width;
    std::vector<std::uint8_t> row(static_cast<std::size_t>(4 * width));
    const bool inverted = jpeg_.saw_Adobe_marker != FALSE;
    for (; jpeg_.output_scanline < jpeg_.output_height; out += width * channels_of(color)) {
      JSAMPROW to = row.data();
      guarded([&] { jpeg_read_scanlines(&jpeg_, &to, 1); });
      cmyk_to_rgb(row.data(), width, inverted);
      convert_pixels(row.data(), width, 3, color, out);
    }
  }

  /// Bytes consumed, possibly a few beyond the error.
  std::int64_t position() const { return source_.next_input_byte - file_.data(); }

  ImageBytes file_;
  jpeg_decompress_struct jpeg_{};
  Failure failure_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  Window part_;  ///< the pixels to decode; height 0: all
};

}  // namespace

void decode_jpeg(ImageBytes file, const DecodeOptions& options, Array& out) {
  JpegFile jpeg(file);
  jpeg.read_header(options.rotate);
  const int orientation = options.rotate ? jpeg.orientation() : 1;
  const bool swaps = swaps_axes(orientation);
  jpeg.choose_scale(swaps ? options.min_width : options.min_height, swaps ? options.min_height : options.min_width);
  if (orientation == 1) jpeg.choose_part(options.part, options.color);
  jpeg.decode(options.color, out);
  apply_orientation(orientation, out);
}

}  // namespace dptrain::data
