#include "evaluation/classes.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "nn/loss.h"

namespace dptrain::evaluation {

Classes::Classes(const config::Typed& loss, const Shape& output, std::vector<std::string> names)
    : width_(output.elements()), row_width_(output.rank() > 0 ? output.back() : 1), names_(std::move(names)) {
  const nn::Reads reads = loss ? nn::loss_type(loss).reads : nn::Reads::kValues;
  if (reads == nn::Reads::kClasses) kind_ = Kind::kSoftmax;
  if (reads == nn::Reads::kProbabilities && row_width_ == 1) kind_ = Kind::kBinary;
  from_logits_ = known() && nn::from_logits(loss);
  if (known() && positions() > 1 && output.rank() == 3) map_ = {output[0], output[1]};
  if (known() && static_cast<std::int64_t>(names_.size()) > count())
    throw Error(ErrorKind::kData,
                fmt::format("{} ({}), but the model's output has {}", counted(names_.size(), "class name"),
                            join(names_, ", "), counted(count(), "class")));
}

std::int64_t Classes::count() const { return kind_ == Kind::kBinary ? 2 : row_width_; }

std::string Classes::name(std::int64_t index) const {
  return index < static_cast<std::int64_t>(names_.size()) ? names_[static_cast<std::size_t>(index)]
                                                          : std::to_string(index);
}

std::vector<float> Classes::probabilities(const float* row) const {
  if (kind_ == Kind::kBinary) {
    const float p = from_logits_ ? 1.0F / (1.0F + std::exp(-*row)) : *row;
    return {1.0F - p, p};
  }
  std::vector<float> p(row, row + row_width_);
  if (!from_logits_) return p;
  const float largest = *std::max_element(p.begin(), p.end());
  float sum = 0;
  for (float& x : p) sum += x = std::exp(x - largest);
  for (float& x : p) x /= sum;
  return p;
}

std::int64_t Classes::class_of(const float* row) const {
  if (kind_ == Kind::kBinary) return *row > (from_logits_ ? 0.0F : 0.5F) ? 1 : 0;
  return argmax(row, row_width_);
}

std::vector<Classes> classes_of_outputs(const experiment::Experiment& experiment, const graph::Graph& graph,
                                        const ClassNames& names) {
  std::vector<Classes> all;
  for (const graph::Port& output : graph.outputs) {
    const Shape& shape = graph::tensor_of(graph, output).shape;
    const std::string name = graph::name_of(graph, output);
    const nn::Loss* loss = experiment.config.train.loss.find(name);
    const config::Typed none;
    const config::Typed& known = loss != nullptr ? *loss : none;
    const std::vector<std::string>& own = names.names_of(name);
    const Classes unnamed(known, shape, {});
    const bool fits = graph.outputs.size() == 1 || names.has_named_output() ||
                      unnamed.count() == static_cast<std::int64_t>(own.size());
    all.push_back(fits ? Classes(known, shape, own) : unnamed);
  }
  return all;
}

std::int64_t argmax(const float* values, std::int64_t n) { return std::max_element(values, values + n) - values; }

}  // namespace dptrain::evaluation
