#include "core/error.h"
#include "core/format.h"
#include "optim/loss.h"

namespace dptrain::optim {
namespace {

using config::key;
using config::Schema;

template <class Spec>
Schema named(const std::string& type) {
  return Schema::of<Spec>(type).key(key<Spec, std::string>("name", &Spec::name));
}

template <class Spec>
void add(config::Family& family, Schema schema, std::vector<std::string> aliases = {}) {
  family.add(config::type_def<Spec>(std::move(schema), std::move(aliases)));
}

config::Family make_metrics() {
  using Binary = BinaryAccuracySpec;
  using TopK = TopKCategoricalAccuracySpec;
  using SparseTopK = SparseTopKCategoricalAccuracySpec;
  config::Family family("metric");
  add<AccuracySpec>(family, named<AccuracySpec>("Accuracy"), {"accuracy"});
  add<AccSpec>(family, named<AccSpec>("acc"));
  add<Binary>(family, named<Binary>("BinaryAccuracy").key(key("threshold", &Binary::threshold)), {"binary_accuracy"});
  add<CategoricalAccuracySpec>(family, named<CategoricalAccuracySpec>("CategoricalAccuracy"), {"categorical_accuracy"});
  add<SparseCategoricalAccuracySpec>(family, named<SparseCategoricalAccuracySpec>("SparseCategoricalAccuracy"),
                                     {"sparse_categorical_accuracy"});
  add<TopK>(family, named<TopK>("TopKCategoricalAccuracy").key(key("k", &TopK::k).at_least(1)),
            {"top_k_categorical_accuracy"});
  add<SparseTopK>(family, named<SparseTopK>("SparseTopKCategoricalAccuracy").key(key("k", &SparseTopK::k).at_least(1)),
                  {"sparse_top_k_categorical_accuracy"});
  add<MeanSquaredErrorLongMetricSpec>(family, named<MeanSquaredErrorLongMetricSpec>("MeanSquaredError"),
                                      {"mean_squared_error"});
  add<MeanSquaredErrorMetricSpec>(family, named<MeanSquaredErrorMetricSpec>("mse"), {"MSE"});
  add<MeanAbsoluteErrorLongMetricSpec>(family, named<MeanAbsoluteErrorLongMetricSpec>("MeanAbsoluteError"),
                                       {"mean_absolute_error"});
  add<MeanAbsoluteErrorMetricSpec>(family, named<MeanAbsoluteErrorMetricSpec>("mae"), {"MAE"});
  return family;
}

ResolvedMetric accuracy(const std::string& name, const Shape& output) {
  // Keras: a last extent of 1 means one probability, compared with 0.5; else the largest output counts.
  const bool binary = output.rank() == 0 || output.back() == 1;
  return {.name = name, .kind = binary ? MetricKind::kBinaryEqual : MetricKind::kArgmaxEqual};
}

ResolvedMetric top_k(const std::string& name, std::int64_t k, const Shape& output) {
  if (output.rank() == 0 || k > output.back())
    throw Error(ErrorKind::kUsage,
                fmt::format("metric '{}': k = {} of an output of {} classes would count every sample; "
                            "give a smaller k",
                            name, k, output.rank() == 0 ? 1 : output.back()));
  return {.name = name, .kind = MetricKind::kTopK, .k = k};
}

}  // namespace

config::Family& metric_family() {
  static config::Family family = make_metrics();
  return family;
}

ResolvedMetric resolve_metric(const config::Typed& metric, const Shape& output) {
  if (const auto* m = metric.get_if<AccuracySpec>()) return accuracy(m->name, output);
  if (const auto* m = metric.get_if<AccSpec>()) return accuracy(m->name, output);
  if (const auto* m = metric.get_if<BinaryAccuracySpec>())
    return {.name = m->name, .kind = MetricKind::kBinaryEqual, .threshold = m->threshold};
  if (const auto* m = metric.get_if<CategoricalAccuracySpec>()) return {.name = m->name};
  if (const auto* m = metric.get_if<SparseCategoricalAccuracySpec>()) return {.name = m->name};
  if (const auto* m = metric.get_if<TopKCategoricalAccuracySpec>()) return top_k(m->name, m->k, output);
  if (const auto* m = metric.get_if<SparseTopKCategoricalAccuracySpec>()) return top_k(m->name, m->k, output);
  const auto error = [&](const std::string& name, MetricKind kind) {
    return ResolvedMetric{.name = name, .kind = kind};
  };
  if (const auto* m = metric.get_if<MeanSquaredErrorMetricSpec>()) return error(m->name, MetricKind::kSquaredError);
  if (const auto* m = metric.get_if<MeanSquaredErrorLongMetricSpec>()) return error(m->name, MetricKind::kSquaredError);
  if (const auto* m = metric.get_if<MeanAbsoluteErrorMetricSpec>()) return error(m->name, MetricKind::kAbsoluteError);
  return error(metric.as<MeanAbsoluteErrorLongMetricSpec>().name, MetricKind::kAbsoluteError);
}

}  // namespace dptrain::optim
