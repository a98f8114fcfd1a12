#pragma once

// The inner loops of a reader of comma-separated values: where its marks stand, and short decimals to floats. Any
// thread; the work is done by the calling thread. Text is at most 4 GiB - 64 bytes long, and kTextPad bytes before its
// first and behind its last byte can be read, whatever is in them.

#include <cstddef>
#include <cstdint>

namespace dptrain::kernels::cpu {

inline constexpr size_t kTextPad = 64;

struct CsvMarks {
  size_t marks = 0;  ///< separators, line feeds, carriage returns and quotes
  size_t line_feeds = 0;
  bool quotes = false;   ///< there is a double quote,
  bool returns = false;  ///< a carriage return,
  bool zeros = false;    ///< a byte of zero,
  bool high = false;     ///< a byte of 0x80 or more
};

/// Places of all marks of text[0, n), in order, into `places`; of each line feed, its number among the marks into
/// `line_feeds`. Both have room for n + 64 numbers, and what stands behind those counted is overwritten.
CsvMarks find_csv_marks(const char* text, size_t n, char separator, uint32_t* places, uint32_t* line_feeds);

/// Whether text[0, n) has the byte.
bool has_byte(const char* text, size_t n, char byte);

/// Rows of fields: field f of row r begins behind the end of field f - 1, or at begins[r], and ends at ends[r * fields
/// + f], where a separator or the row's end stands.
struct CsvFields {
  const char* text;
  const uint32_t* begins;
  const uint32_t* ends;
  size_t rows, fields;
};

/// Which fields are numbers, and where in a row of the result they go. Both arrays have `count` entries.
struct CsvColumns {
  const uint32_t* field;
  const uint32_t* slot;
  size_t count;
};

/// out[r * stride + slot] = the float nearest to the field, where that is an optional '-', then at most 16 digits with
/// at most one point among them (and, with empty_is_nan, NaN where it is nothing); all others are left to the caller:
/// their r * columns.count + place among the columns go into `left`, in order, which has room for all. Returns how
/// many.
size_t short_decimals(const CsvFields& in, const CsvColumns& columns, bool empty_is_nan, float* out, size_t stride,
                      uint32_t* left);

}  // namespace dptrain::kernels::cpu
