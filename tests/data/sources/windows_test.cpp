// Compares windows with keras.utils.timeseries_dataset_from_array (tests/golden/timeseries.json).

#include "data/sources/windows.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "data/fixtures.h"
#include "data/loader.h"
#include "data/sources/split.h"
#include "data/sources/synthetic.h"
#include "data/yaml_sets.h"
#include "support/test_data.h"

namespace dptrain::data {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// Steps in vectors; bytes and ids if the test requests them.
class Series final : public VectorSource {
 public:
  explicit Series(const std::vector<std::vector<float>>& steps)
      : VectorSource(static_cast<std::int64_t>(steps.size()), {static_cast<std::int64_t>(steps[0].size())}) {
    for (const auto& step : steps) numbers_.insert(numbers_.end(), step.begin(), step.end());
  }
  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    out.shape = input_shape(0);
    out.type = DType::kF32;
    const auto first = numbers_.begin() + index * out.shape.elements();
    out.f32.assign(first, first + out.shape.elements());
  }
  const float* f32_rows(int) const override { return contiguous ? numbers_.data() : nullptr; }
  bool can_read_exact(int, DType type) const override { return type == DType::kI32; }
  void read_exact(std::int64_t index, int, DType, void* out) const override {
    for (std::int64_t e = 0; e < input_shape(0).elements(); ++e)
      static_cast<std::int32_t*>(out)[e] =
          static_cast<std::int32_t>(numbers_[static_cast<std::size_t>(index * input_shape(0).elements() + e)]);
  }

 private:
  std::vector<float> numbers_;
};

WindowsSpec windows_of(std::int64_t length) {
  WindowsSpec spec;
  spec.sequence_length = length;
  return spec;
}

std::vector<float> window(const Source& source, std::int64_t index) {
  Array out;
  source.read(index, 0, out);
  EXPECT_EQ(out.shape, source.input_shape(0));
  ImageView view;
  if (source.view(index, 0, view)) {  // the same values without a copy
    EXPECT_EQ(out.f32, std::vector<float>(view.f32(), view.f32() + view.shape.elements()));
  }
  return out.f32;
}

std::vector<float> label(const Source& source, std::int64_t index) {
  std::vector<float> values(static_cast<std::size_t>(source.label_width()));
  source.label_values(index, values.data());
  return values;
}

TEST(Windows, EqualKeras) {
  const json golden = json::parse(std::ifstream(dptrain::test::test_data("golden/timeseries.json")));
  const auto steps = golden["series"].get<std::vector<std::vector<float>>>();
  std::size_t seen = 0;
  for (const json& test : golden["cases"]) {
    SCOPED_TRACE(test["arguments"].dump());
    WindowsSpec spec = windows_of(test["arguments"]["sequence_length"]);
    spec.sequence_stride = test["arguments"].value("sequence_stride", 1);
    spec.sampling_rate = test["arguments"].value("sampling_rate", 1);
    spec.start_index = test["arguments"].value("start_index", 0);
    if (test["arguments"].contains("end_index")) spec.end_index = test["arguments"]["end_index"];
    spec.horizon = test.value("horizon", 0);
    if (test.contains("columns")) spec.label_columns = test["columns"].get<std::vector<std::int64_t>>();
    for (const bool contiguous : {true, false}) {
      auto series = std::make_shared<Series>(steps);
      series->contiguous = contiguous;
      const auto source = make_windows(series, spec, {});
      ASSERT_EQ(source->size(), test["samples"].get<std::int64_t>());
      EXPECT_EQ(source->input_shape(0), (Shape{spec.sequence_length, 3}));
      EXPECT_EQ(window(*source, 0), test["first"].get<std::vector<float>>());
      EXPECT_EQ(window(*source, source->size() - 1), test["last"].get<std::vector<float>>());
      if (!test.contains("targets")) continue;
      for (std::int64_t i = 0; i < source->size(); ++i)
        EXPECT_EQ(label(*source, i), test["targets"][static_cast<std::size_t>(i)].get<std::vector<float>>());
      ++seen;
    }
  }
  EXPECT_EQ(seen, 12U);
}

std::shared_ptr<Series> ramp(std::int64_t steps) {
  std::vector<std::vector<float>> rows;
  for (std::int64_t t = 0; t < steps; ++t) rows.push_back({static_cast<float>(t), static_cast<float>(100 + 2 * t)});
  return std::make_shared<Series>(rows);
}

TEST(Windows, ReturnSeveralConsecutiveLabels) {
  WindowsSpec spec = windows_of(3);
  spec.horizon = 2;
  spec.label_steps = 3;
  spec.sampling_rate = 2;
  spec.label_columns = {1, 0};
  const auto source = make_windows(ramp(20), spec, {});
  EXPECT_EQ(source->size(), 10);  // 4 steps, 2 to the first label, 4 to the last
  EXPECT_THAT(label(*source, 9), ElementsAre(130, 15, 134, 17, 138, 19));
}

TEST(Windows, MeanAndVarianceOfColumns) {
  WindowsSpec spec = windows_of(2);
  spec.mean = {10, 100};
  spec.variance = {4, 16};
  spec.label_columns = {1};
  for (const bool contiguous : {true, false}) {
    auto series = ramp(20);
    series->contiguous = contiguous;
    const auto source = make_windows(series, spec, {});
    EXPECT_THAT(window(*source, 4), ElementsAre(-3, 2, -2.5, 2.5));
    EXPECT_THAT(label(*source, 4), ElementsAre(3));
  }
}

TEST(Windows, NormalizeInputsOfAPrediction) {
  WindowsSpec spec = windows_of(2);
  spec.mean = {10, 100};
  spec.variance = {4, 16};
  spec.start_index = 3;
  ModelSide model;
  model.input_shapes = {Shape{2, 2}};
  const auto of_series = windows_of_inputs(ramp(20), spec, model);
  EXPECT_EQ(of_series->size(), 19);  // up to the end of the series, as windows need no label
  const auto trained = make_windows(ramp(20), spec, model);
  EXPECT_EQ(window(*of_series, 4), window(*trained, 1));

  const auto windows = windows_of_inputs(
      std::make_shared<Series>(std::vector<std::vector<float>>{{4, 108, 5, 110}, {10, 100, 12, 104}}), spec, model);
  EXPECT_THAT(window(*windows, 0), ElementsAre(-3, 2, -2.5, 2.5));
  EXPECT_THAT(window(*windows, 1), ElementsAre(0, 0, 1, 1));
}

TEST(Windows, ScaleOfTheLabels) {
  const auto scales = [](const WindowsSpec& spec, std::int64_t width) {
    std::vector<std::pair<double, double>> all;
    for (const LabelScale& scale : label_scales(spec, width)) all.emplace_back(scale.mean, scale.deviation);
    return all;
  };
  using testing::Pair;
  WindowsSpec spec = windows_of(2);
  spec.of = data_set_of("Numpy: {inputs: series.npy}", "");
  EXPECT_TRUE(label_scales(spec, 2).empty());
  spec.mean = {10, 100};
  spec.variance = {4, 16};
  EXPECT_TRUE(label_scales(spec, 3).empty());  // not a label of these windows
  EXPECT_THAT(scales(spec, 4), ElementsAre(Pair(10, 2), Pair(100, 4), Pair(10, 2), Pair(100, 4)));
  spec.label_columns = {1};
  EXPECT_THAT(scales(spec, 2), ElementsAre(Pair(100, 4), Pair(100, 4)));
  spec.of = data_set_of("Numpy: {inputs: series.npy, labels: y.npy}", "");
  EXPECT_TRUE(label_scales(spec, 1).empty());
}

TEST(Windows, LabelsOfTheSeriesItself) {
  auto series = ramp(10);
  for (std::int64_t t = 0; t < 10; ++t) series->classes.push_back(t % 4);
  WindowsSpec spec = windows_of(3);
  spec.horizon = 0;
  const auto source = make_windows(series, spec, {});
  EXPECT_EQ(source->size(), 8);
  EXPECT_EQ(source->label_type(), LabelType::kClass);
  EXPECT_EQ(source->label_class(5), 7 % 4);
  spec.horizon = -2;  // a label for every step of the window
  spec.label_steps = 3;
  const auto tagged = make_windows(series, spec, {});
  EXPECT_EQ(tagged->size(), 8);
  EXPECT_THAT(label(*tagged, 5), ElementsAre(1, 2, 3));
  spec.label_columns = {0};
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { make_windows(series, spec, {}); }), HasSubstr("labels of its own"));
}

TEST(Windows, IdsOfASeriesOfNumbers) {
  const auto series = std::make_shared<Series>(std::vector<std::vector<float>>{{3}, {1}, {4}, {1}, {5}});
  ModelSide side = model_of({3}, {8});
  side.input_types = {DType::kI32};
  side.id_limits = {6};
  Loader loader(make_windows(series, windows_of(3), side), Pipeline(), side, {{.output = "digits", .width = 8}},
                {.batch_size = 2, .shuffle = {Shuffle::Kind::kNone, 0}});
  const Batch batch = loader.next();
  const auto* const ids = batch.view().inputs[0].as<std::int32_t>();
  EXPECT_THAT(std::vector<std::int32_t>(ids, ids + 6), ElementsAre(3, 1, 4, 1, 4, 1));
  const auto* const next = static_cast<const std::int32_t*>(batch.labels());
  EXPECT_THAT(std::vector<std::int32_t>(next, next + 2), ElementsAre(1, 5));
}

TEST(Windows, ReturnNoIdsWhenNormalized) {
  const auto series = std::make_shared<Series>(std::vector<std::vector<float>>{{3}, {1}, {4}, {1}, {5}});
  WindowsSpec spec = windows_of(3);
  EXPECT_TRUE(make_windows(series, spec, {})->can_read_exact(0, DType::kI32));
  spec.mean = {2};
  spec.variance = {4};
  EXPECT_FALSE(make_windows(series, spec, {})->can_read_exact(0, DType::kI32));
  EXPECT_TRUE(make_windows(series, spec, {})->can_read_exact(1, DType::kI32)) << "the scale is of input 0";
}

TEST(Windows, PartsReturnViewsWithoutACopy) {
  const auto whole = make_windows(ramp(20), windows_of(3), {});
  const auto part = take(whole, 5);
  ImageView of_whole, of_part;
  ASSERT_TRUE(whole->view(4, 0, of_whole));
  ASSERT_TRUE(part->view(4, 0, of_part));
  EXPECT_EQ(of_part.data, of_whole.data);
}

TEST(Windows, RejectsSpecsThatDoNotFitTheSeries) {
  WindowsSpec spec = windows_of(10);
  spec.sampling_rate = 2;
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { make_windows(ramp(19), spec, {}); }),
              HasSubstr("a window of 10 steps with its label needs 20 steps, but the series has 19 from 0 to 19"));
  EXPECT_EQ(make_windows(ramp(20), spec, {})->size(), 1);
  spec = windows_of(2);
  spec.label_columns = {2};
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { make_windows(ramp(9), spec, {}); }), HasSubstr("no column 2"));
  spec.label_columns = {};
  spec.mean = {1, 2, 3};
  spec.variance = {1};
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { make_windows(ramp(9), spec, {}); }), HasSubstr("mean has 3 values"));
  spec = windows_of(2);
  spec.start_index = 30;
  EXPECT_THAT(error_of(ErrorKind::kData, [&] { make_windows(ramp(9), spec, {}); }), HasSubstr("from 30 to 9"));
}

/// No step of a window or label belongs to two parts.
TEST(Windows, OrderedPartsShareNoStep) {
  WindowsSpec spec = windows_of(5);
  spec.sequence_stride = 2;
  spec.horizon = 3;
  SyntheticSpec noise;
  noise.samples = 200;
  spec.of = dataset_family().make(noise);
  SplitSpec part;
  part.shuffle = false;
  DatasetConfig config;
  config.train = dataset_family().make(spec);
  part.fraction = 0.25;
  config.validation = dataset_family().make(part);
  part.fraction = 0.1;
  config.test = dataset_family().make(part);
  ModelSide side = model_of({3}, {1});
  const Sources sources = open_sources(config, side, 7);
  EXPECT_EQ(sources.test->size(), 10);  // of 97
  EXPECT_EQ(sources.validation->size(), 24);
  EXPECT_EQ(sources.train->size(), 97 - 10 - 24 - 2 * 3);  // windows that begin up to 7 steps apart share some
  const auto first_step = [&](const Source& source, std::int64_t i) {
    const std::string place = source.label_place(i);
    return std::stoll(place.substr(place.find_last_of(' ') + 1)) - 7;
  };
  EXPECT_EQ(first_step(*sources.train, 0), 0);
  const std::int64_t train_end = first_step(*sources.train, sources.train->size() - 1) + 7;
  EXPECT_GT(first_step(*sources.validation, 0), train_end);
  EXPECT_LE(first_step(*sources.validation, 0), train_end + 2);
  const std::int64_t validation_end = first_step(*sources.validation, 23) + 7;
  EXPECT_GT(first_step(*sources.test, 0), validation_end);
  EXPECT_EQ(first_step(*sources.test, 9), 192);
}

}  // namespace
}  // namespace dptrain::data
