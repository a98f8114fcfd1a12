#include "data/sources/idx_source.h"

#include <gmock/gmock.h>

#include "data/fixtures.h"

namespace dptrain::data {
namespace {

using testing::ElementsAre;

IdxFile file(const std::string& name, const Bytes& bytes) {
  MemoryReader reader(bytes.data(), bytes.size(), name);
  return parse_idx(reader);
}
std::vector<std::pair<std::string, IdxFile>> one(IdxFile f) {
  std::vector<std::pair<std::string, IdxFile>> inputs;
  inputs.emplace_back("", std::move(f));
  return inputs;
}
IdxFile images(std::uint32_t count) {
  Bytes elements(count * 6);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint8_t>(i);
  return file("images", idx_bytes(0x08, {count, 2, 3}, elements));
}

std::shared_ptr<const Source> source_of(std::vector<std::pair<std::string, IdxFile>> inputs) {
  return make_idx_source({.inputs = std::move(inputs)}, {});
}
std::shared_ptr<const Source> source_of(std::vector<std::pair<std::string, IdxFile>> inputs, IdxFile labels,
                                        std::vector<std::string> class_names = {}) {
  return make_idx_source({.inputs = std::move(inputs), .labels = one(std::move(labels))}, std::move(class_names));
}

TEST(IdxSource, BytesStayBytes) {
  const auto source =
      source_of(one(images(4)), file("labels", idx_bytes(0x08, {4}, {3, 1, 0, 2})), {"a", "b", "c", "d"});
  EXPECT_EQ(source->size(), 4);
  EXPECT_EQ(source->inputs(), 1);
  EXPECT_EQ(source->input_shape(0), (Shape{2, 3}));
  ASSERT_NE(source->u8_rows(0), nullptr);
  EXPECT_EQ(source->f32_rows(0), nullptr);
  EXPECT_EQ(source->u8_rows(0)[23], 23);
  Array sample;
  source->read(2, 0, sample);
  EXPECT_EQ(sample.type, DType::kU8);
  EXPECT_THAT(sample.u8, ElementsAre(12, 13, 14, 15, 16, 17));
  EXPECT_EQ(source->label_type(), LabelType::kClass);
  EXPECT_EQ(source->label_class(3), 2);
  EXPECT_EQ(source->label_place(3), "labels, item 3");
  EXPECT_THAT(source->class_names(), ElementsAre("a", "b", "c", "d"));
}

TEST(IdxSource, OtherTypesBecomeFloats) {
  const auto source = source_of(one(file("x", idx_bytes(0x0B, {2, 2}, big_endian<std::int16_t>({-5, 1, 2, 300})))));
  EXPECT_EQ(source->u8_rows(0), nullptr);
  Array sample;
  source->read(1, 0, sample);
  EXPECT_EQ(sample.type, DType::kF32);
  EXPECT_THAT(sample.f32, ElementsAre(2, 300));
  EXPECT_EQ(source->label_type(), LabelType::kNone);
}

TEST(IdxSource, ScalarsHaveShapeOne) {
  const auto source = source_of(one(file("x", idx_bytes(0x0D, {2}, big_endian<float>({1, 2})))));
  EXPECT_EQ(source->input_shape(0), Shape{1});
}

TEST(IdxSource, LabelsMayBeClassesOrRows) {
  const auto with = [](const Bytes& labels) { return source_of(one(images(2)), file("labels", labels), {}); };
  EXPECT_EQ(with(idx_bytes(0x0C, {2}, big_endian<std::int32_t>({70000, -1})))->label_class(0), 70000);
  EXPECT_EQ(with(idx_bytes(0x09, {2, 1}, {1, 0xFF}))->label_class(1), -1);  // a column counts as a list
  const auto values = with(idx_bytes(0x0E, {2}, big_endian<double>({0.5, 2.5})));
  EXPECT_EQ(values->label_type(), LabelType::kValues);
  EXPECT_EQ(values->label_width(), 1);
  const auto rows = with(idx_bytes(0x08, {2, 3}, {1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(rows->label_type(), LabelType::kValues);
  ASSERT_EQ(rows->label_width(), 3);
  float row[3];
  rows->label_values(1, row);
  EXPECT_THAT(row, ElementsAre(0, 0, 1));
}

TEST(IdxSource, RejectsFilesThatDoNotFit) {
  EXPECT_EQ(error_of(ErrorKind::kData,
                     [] {
                       source_of(one(images(4)), file("labels", idx_bytes(0x08, {3}, {0, 0, 0})), {});
                     }),
            "images has 4 samples, labels has 3 labels; expected the same number");
  EXPECT_EQ(
      error_of(ErrorKind::kData,
               [] {
                 source_of(one(file("labels", idx_bytes(0x08, {4}, {0, 0, 0, 0}))), images(4), {});
               }),
      "images: labels have the shape 4x2x3, and inputs are one number per sample; are inputs and labels swapped?");
  EXPECT_EQ(error_of(ErrorKind::kData,
                     [] {
                       source_of(one(images(2)), file("labels", idx_bytes(0x0D, {2}, big_endian<float>({1, NAN}))), {});
                     }),
            "labels, item 1: label is nan; expected a finite number");
  auto two = one(images(4));
  two.emplace_back("b", images(5));
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { source_of(std::move(two)); }),
            "images has 4 samples, images has 5 samples; expected the same number");
}

TEST(IdxSource, FingerprintFollowsTheData) {
  const auto print = [](const Bytes& labels) {
    return source_of(one(images(4)), file("labels", labels), {})->fingerprint();
  };
  const std::string first = print(idx_bytes(0x08, {4}, {3, 1, 0, 2}));
  EXPECT_EQ(first, print(idx_bytes(0x08, {4}, {3, 1, 0, 2})));
  EXPECT_NE(first, print(idx_bytes(0x08, {4}, {3, 1, 0, 1})));
  EXPECT_TRUE(first.starts_with("idx:4:2x3:uint8:")) << first;
}

TEST(IdxSource, OpensNamedInputs) {
  const TempFolder folder;
  IDXSpec spec;
  spec.inputs.paths = {{"a", {write_plain(folder.file("a"), idx_bytes(0x08, {3, 2}, Bytes(6, 1)))}},
                       {"b", {write_gzip(folder.file("b"), idx_bytes(0x08, {3, 5}, Bytes(15, 2)))}}};
  spec.labels.paths = {{"", {write_plain(folder.file("y"), idx_bytes(0x08, {3}, {0, 1, 0}))}}};
  const auto source = open_idx(spec);
  EXPECT_EQ(source->inputs(), 2);
  EXPECT_EQ(source->input_name(1), "b");
  EXPECT_EQ(source->input_shape(1), Shape{5});
  EXPECT_EQ(open_idx_inputs(spec.inputs.paths[0].second.value)->label_type(), LabelType::kNone);
}

TEST(IdxSource, HasLabelsForEachOutputAndWeights) {
  std::vector<std::pair<std::string, IdxFile>> labels;
  labels.emplace_back("kind", file("kinds", idx_bytes(0x08, {2}, {3, 1})));
  labels.emplace_back("box", file("boxes", idx_bytes(0x0D, {2, 2}, big_endian<float>({0.5F, 1, 2, -4}))));
  const auto source = make_idx_source({.inputs = one(images(2)),
                                       .labels = std::move(labels),
                                       .sample_weight = file("weights", idx_bytes(0x08, {2}, {1, 3}))},
                                      {});
  ASSERT_EQ(source->labels(), 2);
  EXPECT_EQ(source->label_name(1), "box");
  EXPECT_EQ(source->label_type(0), LabelType::kClass);
  EXPECT_EQ(source->label_class(1, 0), 1);
  EXPECT_EQ(source->label_type(1), LabelType::kValues);
  float row[2];
  source->label_values(1, row, 1);
  EXPECT_THAT(row, ElementsAre(2, -4));
  EXPECT_EQ(source->label_place(1, 1), "boxes, item 1");
  EXPECT_TRUE(source->has_sample_weights());
  EXPECT_EQ(source->sample_weight(1), 3);
}

TEST(IdxSource, RejectsInvalidWeights) {
  const auto with = [](const IdxFile& weights) {
    return error_of(ErrorKind::kData,
                    [&] { make_idx_source({.inputs = one(images(2)), .labels = {}, .sample_weight = weights}, {}); });
  };
  EXPECT_EQ(with(file("w", idx_bytes(0x0D, {2}, big_endian<float>({1, -2})))),
            "w, item 1: the sample weight is -2; expected a number >= 0");
  EXPECT_EQ(with(file("w", idx_bytes(0x0D, {2}, big_endian<float>({1, NAN})))),
            "w, item 1: the sample weight is nan; expected a number >= 0");
  EXPECT_EQ(with(file("w", idx_bytes(0x08, {2, 2}, {1, 1, 1, 1}))),
            "w: sample weights are one number per sample, found rows of 2");
  EXPECT_EQ(with(file("w", idx_bytes(0x08, {3}, {1, 1, 1}))),
            "images has 2 samples, w has 3 sample weights; expected the same number");
}

}  // namespace
}  // namespace dptrain::data
