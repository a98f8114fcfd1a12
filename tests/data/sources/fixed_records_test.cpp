#include <gmock/gmock.h>

#include <filesystem>

#include "data/fixtures.h"
#include "data/sources/cifar10.h"
#include "data/sources/fixed_records.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const Source> open_set(config::Typed spec, const Shape& sample = {2, 3, 3}, std::int64_t outputs = 10) {
  DatasetConfig datasets;
  datasets.train = std::move(spec);
  return open_sources(datasets, model_of(sample, {outputs}), 3).train;
}
std::shared_ptr<const Source> open_records(const FixedRecordsSpec& spec) {
  return open_set(dataset_family().make(spec));
}

/// Element e of record i as a byte.
std::uint8_t value(std::int64_t i, std::int64_t e) { return static_cast<std::uint8_t>(i * 31 + e * 7 + 1); }

Bytes records(std::int64_t first, std::int64_t count, std::int64_t elements) {
  Bytes bytes;
  for (std::int64_t i = first; i < first + count; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i % 10));
    for (std::int64_t e = 0; e < elements; ++e) bytes.push_back(value(i, e));
  }
  return bytes;
}

Array read(const Source& source, std::int64_t index) {
  Array out;
  source.read(index, 0, out);
  return out;
}

TEST(FixedRecords, SeveralFilesWithHeadersAndFooters) {
  const TempFolder folder;
  FixedRecordsSpec spec;
  spec.shape = {2, 3, 3};
  spec.header_bytes = 4;
  spec.footer_bytes = 2;
  for (int file = 0; file < 3; ++file) {
    Bytes bytes{1, 2, 3, 4};
    const Bytes body = records(5 * file, 5, 18);
    bytes.insert(bytes.end(), body.begin(), body.end());
    bytes.insert(bytes.end(), {9, 9});
    spec.files.push_back({write_plain(folder.file("r" + std::to_string(file)), bytes)});
  }
  const auto source = open_records(spec);
  ASSERT_EQ(source->size(), 15);
  for (std::int64_t i = 0; i < 15; ++i) {
    const Array sample = read(*source, i);
    EXPECT_EQ(sample.type, DType::kU8);
    EXPECT_EQ(sample.shape, (Shape{2, 3, 3}));
    for (std::int64_t e = 0; e < 18; ++e) EXPECT_EQ(sample.u8[static_cast<std::size_t>(e)], value(i, e));
    EXPECT_EQ(source->label_class(i), i % 10);
  }
  EXPECT_THAT(source->label_place(7), HasSubstr("r1, record 2"));
  const std::string before = source->fingerprint();
  EXPECT_EQ(open_records(spec)->fingerprint(), before);
  write_plain(spec.files[2].value, [&] {
    Bytes bytes = read_all(spec.files[2].value);
    bytes[bytes.size() - 3] ^= 1U;
    return bytes;
  }());
  EXPECT_NE(open_records(spec)->fingerprint(), before);
}

TEST(FixedRecords, ReadsOffsetsTypesAndByteOrders) {
  const TempFolder folder;
  // Two labels (the second is used), a gap, planes of big-endian 16-bit numbers, then a byte of padding.
  Bytes bytes;
  for (std::int16_t i = 0; i < 3; ++i) {
    bytes.insert(bytes.end(), {99, 0, static_cast<std::uint8_t>(i + 4), 0xEE});
    std::vector<std::int16_t> planes;
    for (std::int16_t e = 0; e < 8; ++e) planes.push_back(static_cast<std::int16_t>(1000 * i - 10 * e));
    const Bytes data = big_endian(planes);
    bytes.insert(bytes.end(), data.begin(), data.end());
    bytes.push_back(0xEE);
  }
  FixedRecordsSpec spec;
  spec.files = {{write_plain(folder.file("r"), bytes)}};
  spec.shape = {1, 4, 2};
  spec.dtype = RecordType::kI16;
  spec.data_format = DataFormat::kChannelsFirst;
  spec.byte_order = ByteOrder::kBig;
  spec.label_offset = 1;
  spec.label_bytes = 2;
  spec.data_offset = 4;
  spec.record_bytes = 21;
  const auto source = open_records(spec);
  ASSERT_EQ(source->size(), 3);
  const Array sample = read(*source, 2);
  EXPECT_EQ(sample.type, DType::kF32);
  EXPECT_THAT(sample.f32, ElementsAre(2000, 1960, 1990, 1950, 1980, 1940, 1970, 1930));
  EXPECT_EQ(source->label_class(2), 6);

  spec.label_bytes = 0;
  EXPECT_EQ(open_records(spec)->label_type(), LabelType::kNone);
}

TEST(FixedRecords, Floats) {
  const TempFolder folder;
  const std::vector<float> values{1.5F, -2, 1e-3F, 7};
  Bytes bytes(16);
  std::memcpy(bytes.data(), values.data(), 16);  // test machines are little-endian
  FixedRecordsSpec spec;
  spec.files = {{write_plain(folder.file("r"), bytes)}};
  spec.shape = {2};
  spec.dtype = RecordType::kF32;
  spec.label_bytes = 0;
  const auto source = open_records(spec);
  ASSERT_EQ(source->size(), 2);
  EXPECT_THAT(read(*source, 1).f32, ElementsAre(1e-3F, 7));
}

TEST(FixedRecords, RejectsFilesThatDoNotFit) {
  const TempFolder folder;
  FixedRecordsSpec spec;
  spec.shape = {2, 3, 3};
  spec.files = {{write_plain(folder.file("r"), Bytes(19 * 4 + 3))}};
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_records(spec); }),
              HasSubstr("r: truncated or of another layout: 79 bytes are 4 records of 19 bytes and 3 more"));
  spec.files = {{write_plain(folder.file("r"), {})}};
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_records(spec); }), HasSubstr("r: 0 bytes; expected"));
  spec.files = {{folder.file("missing")}};
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { open_records(spec); }),
              HasSubstr("data.train: no such file or folder: " + folder.file("missing")));
}

TEST(Cifar10, ReadsTheBinaryVersion) {
  const TempFolder folder;
  const std::string inside = folder.file("cifar-10-batches-bin/");
  std::filesystem::create_directories(inside);
  for (int file = 0; file < 5; ++file)
    write_plain(inside + "data_batch_" + std::to_string(file + 1) + ".bin", records(2 * file, 2, 3072));
  write_plain(inside + "test_batch.bin", records(40, 3, 3072));
  const std::string names = "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n";
  write_plain(inside + "batches.meta.txt", {names.begin(), names.end()});
  CIFAR10Spec spec;
  for (const std::string& directory : {inside, folder.file("")}) {
    spec.directory.value = directory;
    spec.subset = CifarSubset::kTrain;
    const auto train = open_set(dataset_family().make(spec), {32, 32, 3});
    ASSERT_EQ(train->size(), 10);
    const Array sample = read(*train, 7);
    EXPECT_EQ(sample.shape, (Shape{32, 32, 3}));
    for (const std::int64_t pixel : {0, 1, 1023})
      for (std::int64_t c = 0; c < 3; ++c)
        EXPECT_EQ(sample.u8[static_cast<std::size_t>(pixel * 3 + c)], value(7, c * 1024 + pixel));
    EXPECT_EQ(train->label_class(7), 7);
    EXPECT_EQ(train->class_names().size(), 10U);
    EXPECT_EQ(train->class_names()[9], "truck");
    spec.subset = CifarSubset::kTest;
    EXPECT_EQ(open_set(dataset_family().make(spec), {32, 32, 3})->size(), 3);
  }
  Bytes wrong = records(0, 2, 3072);
  wrong[3073] = 10;
  write_plain(inside + "test_batch.bin", wrong);
  EXPECT_THAT(error_of(ErrorKind::kData,
                       [&] {
                         open_set(dataset_family().make(spec), {32, 32, 3});
                       }),
              HasSubstr("test_batch.bin, record 1: label 10"));
}

}  // namespace
}  // namespace dptrain::data
