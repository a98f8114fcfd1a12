#include "experiment/mixed_labels.h"

#include "core/format.h"
#include "data/transform.h"
#include "experiment/objectives.h"
#include "optim/loss.h"

namespace dptrain::experiment {

const config::Typed* mixing_transform(const DataSection& data) {
  for (const config::Typed& spec : data.transforms.train)
    if (data::make_transform(spec)->mixing() != nullptr) return &spec;
  return nullptr;
}

void check_mixed_labels(config::Reader& reader, const DataSection& data, const TrainSection& train,
                        const graph::Graph& graph) {
  const config::Typed* mixing = mixing_transform(data);
  if (mixing == nullptr) return;
  for (const plan::Objective& objective : objectives(train, graph))
    if (optim::loss_type(objective.loss).only_class_numbers)
      reader.error(mixing->mark(),
                   fmt::format("{} mixes labels, and {} takes class numbers only; use categorical_crossentropy",
                               mixing->name(), objective.loss.name()));
}

}  // namespace dptrain::experiment
