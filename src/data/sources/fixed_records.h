#pragma once

// Files of records of one length, as TensorFlow's FixedLengthRecordReader reads them: a header, the records, a footer.
// A record has a label and the values of one sample. Labels are read when the files are opened, samples from disk one
// record at a time. Any thread.

#include <memory>
#include <string>
#include <vector>

#include "data/sources/dataset.h"

namespace dptrain::data {

enum class RecordType { kU8, kI8, kI16, kI32, kF32, kF64 };
enum class DataFormat { kChannelsLast, kChannelsFirst };
enum class ByteOrder { kLittle, kBig };
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

/// Layout of a file and of a record, in bytes.
struct RecordLayout {
  std::int64_t header = 0, footer = 0;  ///< sizes at the ends of every file
  std::int64_t record = 0;
  std::int64_t label_at = 0, label_bytes = 1;  ///< unsigned integer of 1, 2 or 4 bytes; 0: no label
  std::int64_t data_at = 1;
  Shape shape;                  ///< shape of a sample that read() returns
  DType type = DType::kU8;      ///< read() returns kU8 unchanged, all others as f32
  bool channels_first = false;  ///< the file has [C, H, W] for the shape [H, W, C]
  bool big_endian = false;
};

/// `kind`: type of the data set, for the fingerprint. Throws Error{kData} if a file is not a whole number of records.
std::shared_ptr<const Source> open_records(const std::vector<std::string>& files, const RecordLayout& layout,
                                           std::vector<std::string> class_names, const std::string& kind);

}  // namespace dptrain::data
