#include <algorithm>
#include <cmath>
#include <set>

#include "backend/cpu/bench/suite.h"
#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv_key.h"
#include "backend/cpu/conv/conv_trial.h"
#include "backend/cpu/dnnl_support.h"
#include "core/format.h"

namespace dptrain::backend::cpu {
namespace {

constexpr double kProducts = 1e8;  // for all samples of a pass: half a second at most
constexpr std::int64_t kMin = 100, kMax = 2000;

/// Single elements of a pass in double. Indices as in ConvShape's layouts.
class ReferenceConvolution {
 public:
  ReferenceConvolution(const ConvShape& shape, const ConvTensors& tensors)
      : s_(shape),
        t_(tensors),
        channels_(shape.in_channels / shape.groups),
        filters_(shape.out_channels / shape.groups) {}

  double y(std::int64_t index) const {
    const std::int64_t height = s_.pool ? s_.out_h / 2 : s_.out_h, width = s_.pool ? s_.out_w / 2 : s_.out_w;
    const std::int64_t o = next(index, s_.out_channels), w = next(index, width), h = next(index, height);
    if (!s_.pool) return output(index, h, w, o);
    return std::max(std::max(output(index, 2 * h, 2 * w, o), output(index, 2 * h, 2 * w + 1, o)),
                    std::max(output(index, 2 * h + 1, 2 * w, o), output(index, 2 * h + 1, 2 * w + 1, o)));
  }

  double dx(std::int64_t index) const {
    const std::int64_t c = next(index, s_.in_channels), w = next(index, s_.in_w), h = next(index, s_.in_h);
    const std::int64_t group = c / channels_;
    double sum = 0;
    for (std::int64_t kh = 0; kh < s_.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < s_.kernel_w; ++kw) {
        const std::int64_t down = h + s_.pad_top - kh * s_.dilation_h, right = w + s_.pad_left - kw * s_.dilation_w;
        if (down < 0 || right < 0 || down % s_.stride_h != 0 || right % s_.stride_w != 0) continue;
        const std::int64_t oh = down / s_.stride_h, ow = right / s_.stride_w;
        if (oh >= s_.out_h || ow >= s_.out_w) continue;
        for (std::int64_t o = group * filters_; o < (group + 1) * filters_; ++o)
          sum += static_cast<double>(t_.weights[weight(kh, kw, c % channels_, o)]) * gradient(index, oh, ow, o);
      }
    return sum;
  }

  double dweights(std::int64_t index) const {
    const std::int64_t o = next(index, s_.out_channels), c = next(index, channels_), kw = next(index, s_.kernel_w);
    double sum = 0;
    for (std::int64_t row = 0; row < s_.rows; ++row)
      for (std::int64_t oh = 0; oh < s_.out_h; ++oh)
        for (std::int64_t ow = 0; ow < s_.out_w; ++ow)
          sum += input(row, oh, ow, index, kw, o / filters_ * channels_ + c) * gradient(row, oh, ow, o);
    return sum;
  }

 private:
  /// Splits the innermost index off a flat index.
  static std::int64_t next(std::int64_t& index, std::int64_t extent) {
    const std::int64_t inner = index % extent;
    index /= extent;
    return inner;
  }

  std::int64_t weight(std::int64_t kh, std::int64_t kw, std::int64_t c, std::int64_t o) const {
    return ((kh * s_.kernel_w + kw) * channels_ + c) * s_.out_channels + o;
  }

  /// The input under one weight of the window of an output; 0 in the padding.
  double input(std::int64_t row, std::int64_t oh, std::int64_t ow, std::int64_t kh, std::int64_t kw,
               std::int64_t c) const {
    const std::int64_t h = oh * s_.stride_h + kh * s_.dilation_h - s_.pad_top;
    const std::int64_t w = ow * s_.stride_w + kw * s_.dilation_w - s_.pad_left;
    if (h < 0 || h >= s_.in_h || w < 0 || w >= s_.in_w) return 0;
    return t_.x[((row * s_.in_h + h) * s_.in_w + w) * s_.in_channels + c];
  }

  double output(std::int64_t row, std::int64_t oh, std::int64_t ow, std::int64_t o) const {
    double sum = s_.bias ? t_.bias[o] : 0;
    for (std::int64_t kh = 0; kh < s_.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < s_.kernel_w; ++kw)
        for (std::int64_t c = 0; c < channels_; ++c)
          sum += static_cast<double>(t_.weights[weight(kh, kw, c, o)]) *
                 input(row, oh, ow, kh, kw, o / filters_ * channels_ + c);
    return s_.relu ? std::max(sum, 0.0) : sum;
  }

  /// Gradient of the convolution's own output; 0 where pooling blocks it.
  double gradient(std::int64_t row, std::int64_t oh, std::int64_t ow, std::int64_t o) const {
    if (!s_.pool) return t_.dy[((row * s_.out_h + oh) * s_.out_w + ow) * s_.out_channels + o];
    const std::int64_t height = s_.out_h / 2, width = s_.out_w / 2;
    if (oh / 2 >= height || ow / 2 >= width) return 0;
    const std::int64_t pooled = ((row * height + oh / 2) * width + ow / 2) * s_.out_channels + o;
    return t_.argmax[pooled] == 2 * (oh % 2) + ow % 2 ? t_.dy[pooled] : 0;
  }

  const ConvShape& s_;
  const ConvTensors& t_;
  std::int64_t channels_, filters_;  // per group
};

/// ||result - exact|| / ||exact|| over some of the `elements`. exact(index) computes `products` products.
template <class F>
double distance(const float* result, std::int64_t elements, std::int64_t products, const F& exact) {
  const auto samples = std::clamp(static_cast<std::int64_t>(kProducts / static_cast<double>(products)), kMin, kMax);
  double difference = 0, size = 0;
  for (std::int64_t k = 0; k < samples; ++k) {
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15U;  // spreads samples over all channels and positions
    const auto index =
        static_cast<std::int64_t>(kGolden * static_cast<std::uint64_t>(k) % static_cast<std::uint64_t>(elements));
    const double value = exact(index), missing = static_cast<double>(result[index]) - value;
    difference += missing * missing;
    size += value * value;
  }
  return std::sqrt(size > 0 ? difference / size : difference);
}

/// Relative error of y, dx or dweights (without dbias) after a run on `t`, compared with sums in double of the same
/// float inputs.
double conv_error(ConvPassKind kind, const ConvShape& s, const ConvTensors& t) {
  const ReferenceConvolution exact(s, t);
  const std::int64_t window = s.kernel_h * s.kernel_w, channels = s.in_channels / s.groups;
  switch (kind) {
    case ConvPassKind::kForward: {
      const std::int64_t positions = s.pool ? (s.out_h / 2) * (s.out_w / 2) : s.out_h * s.out_w;
      return distance(t.y, s.rows * positions * s.out_channels, window * channels * (s.pool ? 4 : 1),
                      [&](std::int64_t index) { return exact.y(index); });
    }
    case ConvPassKind::kBackwardData:
      return distance(t.dx, s.rows * s.in_h * s.in_w * s.in_channels, window * s.out_channels / s.groups,
                      [&](std::int64_t index) { return exact.dx(index); });
    case ConvPassKind::kBackwardWeights:
      return distance(t.dweights, window * channels * s.out_channels, s.rows * s.out_h * s.out_w,
                      [&](std::int64_t index) { return exact.dweights(index); });
  }
  return 0;
}

/// A pass as seven nested loops: the reference of the benchmarks. Any shape without pooling.
class NaiveConv final : public ConvPass {
 public:
  NaiveConv(ConvPassKind kind, const ConvShape& shape) : kind_(kind), s_(shape) {}

  std::string name() const override { return "naive"; }
  std::size_t scratch() const override { return 0; }

  void run(const ConvTensors& t, void*) override {
    switch (kind_) {
      case ConvPassKind::kForward: return forward(t);
      case ConvPassKind::kBackwardData:
        std::fill_n(t.dx, s_.rows * s_.in_h * s_.in_w * s_.in_channels, 0.0F);
        return for_products(
            [&](std::int64_t in, std::int64_t weight, std::int64_t out) { t.dx[in] += t.weights[weight] * t.dy[out]; });
      case ConvPassKind::kBackwardWeights: return backward_weights(t);
    }
  }

 private:
  void forward(const ConvTensors& t) const {
    const std::int64_t outputs = s_.rows * s_.out_h * s_.out_w * s_.out_channels;
    for (std::int64_t i = 0; i < outputs; ++i) t.y[i] = s_.bias ? t.bias[i % s_.out_channels] : 0.0F;
    for_products(
        [&](std::int64_t in, std::int64_t weight, std::int64_t out) { t.y[out] += t.x[in] * t.weights[weight]; });
    if (s_.relu)
      for (std::int64_t i = 0; i < outputs; ++i) t.y[i] = std::max(t.y[i], 0.0F);
  }

  void backward_weights(const ConvTensors& t) const {
    std::fill_n(t.dweights, s_.weights(), 0.0F);
    for_products(
        [&](std::int64_t in, std::int64_t weight, std::int64_t out) { t.dweights[weight] += t.x[in] * t.dy[out]; });
    if (!s_.bias) return;
    std::fill_n(t.dbias, s_.out_channels, 0.0F);
    for (std::int64_t i = 0; i < s_.rows * s_.out_h * s_.out_w * s_.out_channels; ++i)
      t.dbias[i % s_.out_channels] += t.dy[i];
  }

  /// f(index in x, index in the kernel, index in y) for every product.
  template <class F>
  void for_products(const F& f) const {
    for (std::int64_t row = 0; row < s_.rows; ++row)
      for (std::int64_t oh = 0; oh < s_.out_h; ++oh)
        for (std::int64_t ow = 0; ow < s_.out_w; ++ow) for_window(f, row, oh, ow);
  }

  template <class F>
  void for_window(const F& f, std::int64_t row, std::int64_t oh, std::int64_t ow) const {
    const std::int64_t channels = s_.in_channels / s_.groups, filters = s_.out_channels / s_.groups;
    const std::int64_t out = ((row * s_.out_h + oh) * s_.out_w + ow) * s_.out_channels;
    for (std::int64_t kh = 0; kh < s_.kernel_h; ++kh)
      for (std::int64_t kw = 0; kw < s_.kernel_w; ++kw) {
        const std::int64_t h = oh * s_.stride_h + kh * s_.dilation_h - s_.pad_top;
        const std::int64_t w = ow * s_.stride_w + kw * s_.dilation_w - s_.pad_left;
        if (h < 0 || h >= s_.in_h || w < 0 || w >= s_.in_w) continue;
        const std::int64_t in = ((row * s_.in_h + h) * s_.in_w + w) * s_.in_channels;
        for (std::int64_t group = 0; group < s_.groups; ++group)
          for (std::int64_t c = 0; c < channels; ++c) {
            const std::int64_t weight = ((kh * s_.kernel_w + kw) * channels + c) * s_.out_channels;
            for (std::int64_t o = group * filters; o < (group + 1) * filters; ++o)
              f(in + group * channels + c, weight + o, out + o);
          }
      }
  }

  ConvPassKind kind_;
  ConvShape s_;
};

/// One row of the shape without pooling, cut to as many lines of output as take about `flops` operations.
ConvShape few_lines(ConvShape shape, double flops) {
  shape.rows = 1;
  shape.pool = false;
  const double of_line = flops_of(shape) / static_cast<double>(shape.out_h);
  const auto lines = std::max<std::int64_t>(1, std::llround(flops / of_line));
  if (lines >= shape.out_h) return shape;
  shape.out_h = lines;
  shape.in_h = (lines - 1) * shape.stride_h + (shape.kernel_h - 1) * shape.dilation_h + 1;
  shape.pad_top = shape.pad_bottom = 0;
  return shape;
}

constexpr double kFlopsOfRun = 4e9;       // limits the rows of a batch
constexpr double kFlopsOfNaiveRun = 2e8;  // limits the lines of the reference

/// "conv/28x28x1/3x3/32/pool/forward": input, kernel (and stride), filters.
std::string name_of(const ConvChoices::Pass& pass) {
  const ConvShape& s = pass.shape;
  const std::string strides = s.strided() ? fmt::format("s{}", s.stride_h) : "";
  const std::string groups = s.groups == 1 ? "" : fmt::format("/groups{}", s.groups);
  return fmt::format("conv/{}x{}x{}/{}x{}{}{}/{}{}{}/{}", s.in_h, s.in_w, s.in_channels, s.kernel_h, s.kernel_w,
                     strides, s.pad_top > 0 ? "" : "v", s.out_channels, groups, s.pool ? "/pool" : "",
                     name_of(pass.kind));
}

std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// One algorithm of a pass with its tensors.
struct Candidate {
  Dnnl dnnl;
  ConvTrial trial;
  std::unique_ptr<ConvPass> pass;

  Candidate(const ConvChoices::Pass& asked, const std::string& way)
      : trial(asked.kind, with_rows_for(asked.shape, kFlopsOfRun)) {
    for (ChosenConv& one : conv_candidates(asked.kind, trial.shape(), ConvChoice::kAuto, dnnl))
      if (one.name == way) pass = std::move(one.pass);
    trial.allocate_scratch(*pass);
  }
};

std::function<double()> error_of(ConvPassKind kind, std::shared_ptr<ConvTrial> trial) {
  return [kind, trial = std::move(trial)] { return conv_error(kind, trial->shape(), trial->tensors()); };
}

Kernel make_candidate(const ConvChoices::Pass& asked, const std::string& way) {
  const auto candidate = std::make_shared<Candidate>(asked, way);
  return {.run = [candidate] { candidate->trial.run(*candidate->pass); },
          .flops = candidate->trial.flops(),
          .error = error_of(asked.kind, std::shared_ptr<ConvTrial>(candidate, &candidate->trial))};
}

Kernel make_naive(const ConvChoices::Pass& asked) {
  const ConvShape shape = few_lines(asked.shape, kFlopsOfNaiveRun);
  const auto trial = std::make_shared<ConvTrial>(asked.kind, shape);
  const auto pass = std::make_shared<NaiveConv>(asked.kind, shape);
  trial->allocate_scratch(*pass);
  return {.run = [=] { trial->run(*pass); }, .flops = trial->flops(), .error = error_of(asked.kind, trial)};
}

}  // namespace

void add_convolutions(Suite& suite, const ConvChoices& asked) {
  Dnnl dnnl;
  std::set<std::string> names;  // passes that differ only in bias or ReLU share a benchmark
  for (const ConvChoices::Pass& pass : asked.passes()) {
    const std::string name = name_of(pass);
    if (!names.insert(name).second) continue;
    ConvChoices::Pass one = pass;
    one.shape = with_rows_for(pass.shape, kFlopsOfRun);
    for (const ChosenConv& way : conv_candidates(one.kind, one.shape, ConvChoice::kAuto, dnnl))
      suite.push_back({name + "/" + underscored(way.name),
                       [pass, way = std::string(way.name)] { return make_candidate(pass, way); }});
    suite.push_back({name + "/naive", [pass] { return make_naive(pass); }});
  }
}

}  // namespace dptrain::backend::cpu
