#pragma once

// Inner loops of the CSV reader: positions of marks, and short decimals to floats. Thread-safe and serial. Text is at
// most 4 GiB - 64 bytes long; kTextPad bytes before and after it must be readable, with any contents.

#include <cstddef>
#include <cstdint>

namespace dptrain::kernels::cpu {

inline constexpr size_t kTextPad = 64;

struct CsvMarks {
  size_t marks = 0;  ///< separators, line feeds, carriage returns and quotes
  size_t line_feeds = 0;
  bool quotes = false;   ///< contains a double quote
  bool returns = false;  ///< contains a carriage return
  bool zeros = false;    ///< contains a zero byte
  bool high = false;     ///< contains a byte >= 0x80
};

/// Writes the positions of all marks of text[0, n) to `places`, in order, and the index of each line feed among the
/// marks to `line_feeds`. Both have space for n + 64 numbers; entries after the last are overwritten.
CsvMarks find_csv_marks(const char* text, size_t n, char separator, uint32_t* places, uint32_t* line_feeds);

bool has_byte(const char* text, size_t n, char byte);

/// Field f of row r ends before the mark at ends[r * fields + f]; it starts at begins[r] or after the previous mark.
struct CsvFields {
  const char* text;
  const uint32_t* begins;
  const uint32_t* ends;
  size_t rows, fields;
};

/// Numeric fields and their slots in a row of the result; both arrays have `count` entries.
struct CsvColumns {
  const uint32_t* field;
  const uint32_t* slot;
  size_t count;
};

/// out[r * stride + slot] = the nearest float of a field that is an optional '-' and at most 16 digits with at most one
/// point. With empty_is_nan an empty field is NaN. For other fields writes r * columns.count + index of the column to
/// `left`, in order, which has space for all. Returns their number.
size_t short_decimals(const CsvFields& in, const CsvColumns& columns, bool empty_is_nan, float* out, size_t stride,
                      uint32_t* left);

}  // namespace dptrain::kernels::cpu
