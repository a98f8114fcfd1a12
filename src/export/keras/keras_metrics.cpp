#include "export/keras/keras_metric.h"
#include "export/spec_table.h"
#include "nn/counting_metrics.h"
#include "nn/metrics.h"

namespace dptrain::exporting::keras {
namespace {

SpecTable<MetricForm>& metric_forms() {
  static SpecTable<MetricForm> table;
  return table;
}

/// Keras resolves the word against the output, as we do.
const RegisteredMetric<nn::AccuracySpec> kAccuracy("accuracy");

config::Node auc(const nn::AUCSpec& spec, config::Node written) {
  config::Node config = config::Node::map();
  for (const config::Node::Entry& entry : written.entries())  // Keras reads a list of thresholds before their number
    if (entry.key != "thresholds" || !spec.thresholds.empty()) config.set(entry.key, entry.value);
  if (spec.label_weights.empty()) config.set("label_weights", config::Node());
  return config;
}

const RegisteredMetric<nn::AUCSpec> kAuc(auc);

/// For a model whose last axis holds the classes' scores.
config::Node mean_io_u(const nn::MeanIoUSpec&, config::Node written) {
  written.set("sparse_y_true", config::Node::boolean(true));
  written.set("sparse_y_pred", config::Node::boolean(false));
  written.set("axis", config::Node::integer(-1));
  return written;
}

const RegisteredMetric<nn::MeanIoUSpec> kMeanIoU(mean_io_u);

/// Of Precision and Recall: Keras takes no empty list.
template <class Spec>
config::Node counted_above(const Spec& spec, config::Node written) {
  if (spec.thresholds.empty()) written.set("thresholds", config::Node());
  return written;
}

const RegisteredMetric<nn::PrecisionSpec> kPrecision(counted_above<nn::PrecisionSpec>);
const RegisteredMetric<nn::RecallSpec> kRecall(counted_above<nn::RecallSpec>);

}  // namespace

config::Node metric_config(const config::Typed& metric) {
  config::Node written = metric.def().schema.write(metric.spec());
  const MetricForm* form = metric_forms().find(metric.type());
  if (form == nullptr) return written;
  return form->word.empty() ? form->arguments(metric.spec(), std::move(written)) : config::Node::text(form->word);
}

void add_metric_form(std::type_index spec, MetricForm form) { metric_forms().add(spec, std::move(form)); }

}  // namespace dptrain::exporting::keras
