#pragma once

// Files of records that are all alike, as TensorFlow's FixedLengthRecordReader reads them: a header, records of one
// length, a footer. Of each record a label and the values of one sample. Read from disk one record at a time; labels
// are read once, when the files are opened. Any thread.

#include <memory>
#include <string>
#include <vector>

#include "data/sources/dataset.h"

namespace dptrain::data {

enum class RecordType { kU8, kI8, kI16, kI32, kF32, kF64 };
enum class DataFormat { kChannelsLast, kChannelsFirst };
enum class ByteOrder { kLittle, kBig };
/// Files of records of one length.
struct FixedRecordsSpec : DatasetCommon {
  std::vector<config::Path> files;
  std::vector<std::int64_t> shape;
  RecordType dtype = RecordType::kU8;
  DataFormat data_format = DataFormat::kChannelsLast;
  ByteOrder byte_order = ByteOrder::kLittle;
  std::int64_t label_bytes = 1, label_offset = 0;
  std::optional<std::int64_t> data_offset, record_bytes;
  std::int64_t header_bytes = 0, footer_bytes = 0;
};

/// Where things are in a record and in a file; all in bytes.
struct RecordLayout {
  std::int64_t header = 0, footer = 0;  ///< of every file
  std::int64_t record = 0;
  std::int64_t label_at = 0, label_bytes = 1;  ///< an unsigned integer of 1, 2 or 4 bytes; 0: no label
  std::int64_t data_at = 1;
  Shape shape;                  ///< of a sample as it is delivered
  DType type = DType::kU8;      ///< kU8 is delivered as it is, all others as f32
  bool channels_first = false;  ///< the file has [C, H, W] for the shape [H, W, C]
  bool big_endian = false;
};

/// `kind` is the data set's type, for the fingerprint. Throws Error{kData} where a file is not a whole number of
/// records.
std::shared_ptr<const Source> open_records(const std::vector<std::string>& files, const RecordLayout& layout,
                                           std::vector<std::string> class_names, const std::string& kind);

}  // namespace dptrain::data
