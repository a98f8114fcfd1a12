// Batches made by the GPU code equal those of the loader up to rounding: same samples, draws and transforms.

#include <gtest/gtest.h>

#include <cmath>

#include "backend/emu/emu_runtime.h"
#include "data/loader.h"
#include "data/pixel_program.h"
#include "runtime/device_input.h"
#include "runtime/small_net.h"
#include "support/sanitizer.h"

namespace dptrain::runtime {
namespace {

using namespace dptrain::test;  // NOLINT(google-build-using-namespace)

/// Samples of one input in memory, in reverse order.
class Rows final : public data::Source {
 public:
  Rows(Shape shape, DType type, std::int64_t size) : shape_(std::move(shape)), type_(type), size_(size) {
    RandomStream random(7, 3);
    for (std::int64_t i = 0; i < size * shape_.elements(); ++i) {
      u8_.push_back(static_cast<std::uint8_t>(random.below(256)));
      f32_.push_back(static_cast<float>(u8_.back()) + 0.25F * random.uniform());
    }
  }
  std::int64_t size() const override { return size_; }
  int inputs() const override { return 1; }
  std::string input_name(int) const override { return ""; }
  Shape input_shape(int) const override { return shape_; }
  void read(std::int64_t index, int, data::Array& out, const data::ReadHint&) const override {
    const auto n = static_cast<std::size_t>(shape_.elements()), first = static_cast<std::size_t>(row(index)) * n;
    out.shape = shape_;
    out.type = type_;
    out.u8.assign(u8_.data() + first, u8_.data() + first + n);
    out.f32.assign(f32_.data() + first, f32_.data() + first + n);
  }
  const std::uint8_t* u8_rows(int) const override { return type_ == DType::kU8 ? u8_.data() : nullptr; }
  const float* f32_rows(int) const override { return type_ == DType::kF32 ? f32_.data() : nullptr; }
  std::int64_t row(std::int64_t index) const override { return size_ - 1 - index; }
  data::LabelType label_type(int) const override { return data::LabelType::kClass; }
  std::int64_t label_width(int) const override { return 1; }
  std::int64_t label_class(std::int64_t index, int) const override { return index % 3; }
  void label_values(std::int64_t, float*, int) const override {}
  std::string label_place(std::int64_t, int) const override { return ""; }
  std::string fingerprint() const override { return ""; }

 private:
  Shape shape_;
  DType type_;
  std::int64_t size_;
  std::vector<std::uint8_t> u8_;
  std::vector<float> f32_;
};

std::vector<config::Typed> transforms_of(const std::vector<std::string>& texts) {
  std::vector<config::Typed> all;
  for (const std::string& text : texts) all.push_back(value_of(data::transform_family(), text));
  return all;
}

constexpr std::int64_t kSamples = 23, kBatch = 7;
constexpr std::uint64_t kSeed = 11;

struct Case {
  std::string name;
  Shape sample, wanted;
  std::vector<std::string> transforms;
};

std::vector<Case> cases() {
  const Shape image{9, 8, 3}, grey{6, 5};
  return {
      {"nothing", image, image, {}},
      {"rescaling", image, image, {"Rescaling: {scale: 0.00392156862745098, offset: -0.5}"}},
      {"one channel", grey, Shape{6, 5, 1}, {"Rescaling: 0.1"}},
      {"a row", Shape{10}, Shape{10}, {"Normalization: {mean: [100], variance: [50]}", "PerImageStandardization"}},
      {"by channel", image, image, {"Normalization: {mean: [1, 20, 3], variance: [4, 5, 600]}"}},
      {"middle", image, Shape{5, 5, 3}, {"CenterCrop: {height: 5, width: 5}", "Rescaling: 0.5"}},
      {"cifar",
       image,
       image,
       {"Rescaling: 0.00392156862745098", "RandomCrop: {height: 9, width: 8, padding: 3}", "RandomFlip: horizontal",
        "Normalization: {mean: [0.4, 0.5, 0.6], variance: [0.04, 0.05, 0.06]}"}},
      {"flips and crops",
       image,
       Shape{4, 6, 3},
       {"RandomFlip", "RandomCrop: {height: 7, width: 7, padding: 1}", "RandomFlip: vertical",
        "RandomCrop: {height: 4, width: 6}"}},
      {"colours", image, image, {"RandomBrightness: 0.3", "RandomContrast: [0.4, 0.2]", "Rescaling: 0.01"}},
      {"contrast first, twice",
       image,
       image,
       {"RandomContrast: 0.5", "RandomFlip", "RandomContrast: {factor: 0.9, value_range: [20, 200]}"}},
      {"standardized last",
       image,
       Shape{8, 8, 3},
       {"RandomBrightness: {factor: [0.1, 0.5], value_range: [0, 255]}", "RandomCrop: {height: 8, width: 8}",
        "PerImageStandardization"}},
  };
}

class Batches : public ::testing::TestWithParam<std::tuple<DType, bool, std::uint64_t>> {
 protected:
  static data::Loader loader_of(const std::shared_ptr<const data::Source>& source, const Case& c, data::BatchForm form,
                                std::int64_t others = 0) {
    data::LoaderOptions options;
    options.share = [others](std::int64_t positions, std::int64_t) { return RowRange{others, positions - others}; };
    options.batch_size = kBatch;
    options.seed = kSeed;
    options.form = form;
    data::ModelSide model;
    model.input_names = {"image"};
    model.input_shapes = {c.wanted};
    model.output_names = {"kind"};
    model.outputs = {Shape{3}};
    return {source,
            data::Pipeline(transforms_of(c.transforms), false),
            model,
            {data::LabelForm{.output = "kind", .kind = nn::LabelKind::kClass, .width = 3}},
            options};
  }
};

TEST_P(Batches, EqualThoseOfTheLoader) {
  const auto& [type, resident, seed] = GetParam();
  backend::emu::reseed(seed);
  const auto device = device_of("emu:0", 0);
  device->enter();
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const auto source = std::make_shared<Rows>(c.sample, type, kSamples);
    data::Loader floats = loader_of(source, c, data::BatchForm::kFloats);
    const std::int64_t others = c.transforms.size() == 1 ? 2 : 0;  // rows that another process has
    data::Loader fed = loader_of(source, c, resident ? data::BatchForm::kSamples : data::BatchForm::kRows, others);
    const auto rows = fed.rows_in_memory();
    ASSERT_EQ(rows.size(), 1U);
    const auto program = data::pixel_program(transforms_of(c.transforms), rows[0].sample, kSeed);
    ASSERT_TRUE(program);
    EXPECT_EQ(std::int64_t{program->out_height} * program->out_width * program->channels, c.wanted.elements());
    const auto stream = device->make_stream();
    DeviceDataset dataset{.samples = kSamples, .resident = resident, .inputs = {}};
    dataset.inputs.push_back({*program, type, rows[0].rows, [&](std::int64_t i) { return source->row(i); }});
    DeviceInput input(DType::kF32, *device, *stream, dataset, kBatch, 2, {true});
    const auto made = device->allocate(static_cast<std::size_t>(kBatch * c.wanted.elements()) * sizeof(float));
    for (int number = 0; number < 10; ++number) {  // two epochs and a half
      data::Batch expected = floats.next(), batch = fed.next();
      if (expected.rows() == 0) {
        floats.next_epoch(), fed.next_epoch();
        expected = floats.next(), batch = fed.next();
      }
      ASSERT_EQ(batch.rows(), expected.rows());
      ASSERT_EQ(batch.indices(), expected.indices());
      BatchView slice = batch.view();
      slice.dataset = 0;
      input.make(slice, number % 2, {made->data()});
      ASSERT_EQ(slice.first_row, others);
      const float* const wanted = expected.input(0) + others * c.wanted.elements();
      std::vector<float> out(static_cast<std::size_t>(slice.rows * c.wanted.elements()));
      device->copy_to_host(out.data(), made->data(), out.size() * sizeof(float), *stream);
      for (std::size_t i = 0; i < out.size(); ++i)  // fused multiply-adds round once instead of twice
        ASSERT_NEAR(out[i], wanted[i], 4e-6F * (1 + std::fabs(wanted[i]))) << number << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfBytesAndFloats, Batches,
                         ::testing::Combine(::testing::Values(DType::kU8, DType::kF32), ::testing::Bool(),
                                            ::testing::Range<std::uint64_t>(1, 1 + test::seeds(2))));

TEST(PixelPrograms, ExistForSupportedTransforms) {
  const Shape image{4, 4, 3};
  EXPECT_FALSE(data::pixel_program(transforms_of({"RandomFlip"}), Shape{}, 1)) << "samples of any size";
  EXPECT_FALSE(data::pixel_program(transforms_of({"RandomContrast: 0.1"}), Shape{4, 4, 5}, 1)) << "many channels";
  EXPECT_TRUE(data::pixel_program(transforms_of({"Rescaling: 0.1"}), Shape{4, 4, 5}, 1));
  EXPECT_FALSE(data::pixel_program(transforms_of(std::vector<std::string>(9, "RandomFlip")), image, 1));
}

}  // namespace
}  // namespace dptrain::runtime
