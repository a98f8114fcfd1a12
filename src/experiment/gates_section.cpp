#include "experiment/gates_section.h"

#include <array>

#include "config/config_loader.h"
#include "config/json_fragment.h"
#include "config/schema.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::config {

template <>
struct EnumNames<experiment::ComparisonMode> {
  using C = experiment::ComparisonMode;
  static constexpr std::array names{std::pair{C::kTrainings, "trainings"}, std::pair{C::kModels, "models"}};
};

using experiment::AccuracyDropLimit;
using experiment::ClassLimits;
using experiment::GatesSection;
using experiment::Limit;
using experiment::NamedClasses;
using experiment::NamedLimits;
using experiment::SizeLimit;
using experiment::SpeedLimit;

namespace {

const Schema& schema_of(const Limit&) {
  static const Schema schema = Schema::of<Limit>("limit")
                                   .key(key("at_least", &Limit::at_least).doc("smallest value that passes"))
                                   .key(key("at_most", &Limit::at_most).doc("largest value that passes"))
                                   .rule<Limit>([](const Limit& limit) -> std::string {
                                     if (!limit.at_least && !limit.at_most)
                                       return "a limit needs at_least or at_most, as in {at_least: 0.9}";
                                     const bool crossed =
                                         limit.at_least && limit.at_most && *limit.at_least > *limit.at_most;
                                     return crossed ? "at_least is above at_most" : "";
                                   });
  return schema;
}

const Schema& schema_of(const SpeedLimit&) {
  using S = SpeedLimit;
  static const Schema schema =
      Schema::of<S>("gates.speed")
          .key(key("at_least", &S::at_least).above(0).doc("samples a second"))
          .key(key("of_baseline", &S::of_baseline).above(0).doc("smallest share of the baseline's samples a second"))
          .rule<S>([](const S& speed) -> std::string {
            return speed.at_least || speed.of_baseline ? ""
                                                       : "needs at_least (samples a second) or of_baseline (a share)";
          });
  return schema;
}

const Schema& schema_of(const SizeLimit&) {
  using S = SizeLimit;
  static const Schema schema =
      Schema::of<S>("gates.size")
          .key(key("parameters", &S::parameters).doc("largest number of weights").at_least(1))
          .key(key("file", &S::file).doc("largest size of the checkpoint in bytes"))
          .rule<S>([](const S& size) -> std::string {
            return size.parameters || size.file ? "" : "needs parameters or file, the largest value that passes";
          });
  return schema;
}

/// Writes only the keys that have a value.
Node given(const Schema& schema, const void* spec) {
  Node all = schema.write(spec);
  std::erase_if(all.entries(), [](const Node::Entry& entry) {
    const Node& value = entry.value;
    return !value.is_scalar() && value.entries().empty() && value.items().empty();
  });
  return all;
}

/// A map that its own schema reads, with its location.
template <class T>
struct Map {
  static bool read(const Node& node, Reader& reader, T& out) {
    const Schema& schema = schema_of(out);
    const Node value = reader.substituted(node);
    out.mark = value.mark();
    const std::string limit = value.is_scalar() ? fmt::format(" such as {{at_least: {}}}", value.str()) : "";
    if (!value.is_map()) return reader.expected(value, "a mapping" + limit), false;
    return schema.read(value, value.mark(), reader, &out);
  }
  static Node write(const T& value) { return given(schema_of(value), &value); }
  static Node schema() { return schema_of(T()).json_schema(); }
};

/// Calls `one` for each entry of a map with arbitrary names.
template <class One>
bool read_named(const Node& node, Reader& reader, const One& one) {
  Node found;
  bool good = detail::read_map(node, reader, found);
  for (const Node::Entry& entry : found.entries()) {
    const Reader::Key key(reader, entry.key);
    good = one(entry) && good;
  }
  return good;
}

}  // namespace

template <>
struct Value<Limit> : Map<Limit> {};
template <>
struct Value<SpeedLimit> : Map<SpeedLimit> {};
template <>
struct Value<SizeLimit> : Map<SizeLimit> {};

template <>
struct Value<AccuracyDropLimit> {
  static bool read(const Node& node, Reader& reader, AccuracyDropLimit& out) {
    out.mark = reader.substituted(node).mark();
    if (!Value<double>::read(node, reader, out.value)) return false;
    if (out.value > 0 && out.value < 1) return true;
    reader.error(node, fmt::format("{}a share of right answers between 0 and 1, as in 0.02, found {:g}", reader.must(),
                                   out.value));
    return false;
  }
  static Node write(const AccuracyDropLimit& value) { return Value<double>::write(value.value); }
  static Node schema() {
    Node share = Value<double>::schema();
    share.set("exclusiveMinimum", Node::integer(0));
    share.set("exclusiveMaximum", Node::integer(1));
    return share;
  }
};

template <>
struct Value<NamedLimits> {
  static bool read(const Node& node, Reader& reader, NamedLimits& out) {
    return read_named(node, reader, [&](const Node::Entry& entry) {
      const bool good = Value<Limit>::read(entry.value, reader, out.limits.emplace_back(entry.key, Limit{}).second);
      out.limits.back().second.mark = entry.mark;
      return good;
    });
  }
  static Node write(const NamedLimits& value) {
    Node map = Node::map();
    for (const auto& [name, limit] : value.limits) map.set(name, Value<Limit>::write(limit));
    return map;
  }
  static Node schema() { return detail::map_schema(Value<Limit>::schema()); }
};

namespace {

const Schema& schema_of(const ClassLimits&) {
  static const Schema schema =
      Schema::of<ClassLimits>("gates.classes")
          .key(key("recall", &ClassLimits::recall).doc("share of the class's samples that are found"))
          .key(key("precision", &ClassLimits::precision).doc("share of right predictions of the class"))
          .key(key("iou", &ClassLimits::iou).doc("intersection over union of the class, of labels that are maps"));
  return schema;
}

}  // namespace

template <>
struct Value<NamedClasses> {
  static bool read(const Node& node, Reader& reader, NamedClasses& out) {
    return read_named(node, reader, [&](const Node::Entry& entry) {
      ClassLimits& limits = out.classes.emplace_back(entry.key, ClassLimits{}).second;
      out.marks.push_back(entry.mark);
      if (!entry.value.is_map()) return reader.expected(entry.value, "{recall: ..., precision: ..., iou: ...}"), false;
      return schema_of(limits).read(entry.value, entry.mark, reader, &limits);
    });
  }
  static Node write(const NamedClasses& value) {
    Node map = Node::map();
    for (const auto& [name, limits] : value.classes) map.set(name, given(schema_of(limits), &limits));
    return map;
  }
  static Node schema() { return detail::map_schema(schema_of(ClassLimits()).json_schema()); }
};

bool Value<GatesSection>::read(const Node& node, Reader& reader, GatesSection& out) {
  return experiment::gates_schema().read_section(node, reader, &out);
}

Node Value<GatesSection>::write(const GatesSection& value) { return given(experiment::gates_schema(), &value); }

Node Value<GatesSection>::schema() { return experiment::gates_schema().json_schema(); }

}  // namespace dptrain::config

namespace dptrain::experiment {
namespace {

std::string section_error(const GatesSection& gates) {
  if (gates.baseline.empty() && (gates.pairs() || (gates.speed && gates.speed->of_baseline)))
    return "drop, class_drop and speed.of_baseline need a baseline, the folder of a run or a list of folders";
  if (gates.pairs() && !gates.confidence)
    return "drop and class_drop need a confidence: a difference of two runs is partly noise; add confidence: 0.99";
  if (!gates.runs.empty() && !gates.pairs()) return "runs needs drop or class_drop; add one, or remove runs";
  if (gates.pairs() && gates.compare == ComparisonMode::kTrainings && gates.baseline.size() + gates.runs.size() < 2)
    return "one run on each side does not show how much seeds alone change a class; name two runs or more of the "
           "baseline's training, with other seeds, or write 'compare: models' to judge the weights as they are";
  return "";
}

}  // namespace

const config::Schema& gates_schema() {
  using config::key;
  using S = GatesSection;
  static const config::Schema schema =
      config::Schema::of<S>("gates")
          .key(key("confidence", &S::confidence)
                   .doc("compare intervals of this confidence instead of the values; required by drop and class_drop")
                   .at_least(0.5)
                   .below(1))
          .key(key("metrics", &S::metrics)
                   .doc("limits of metrics, by the names that eval prints, and of precision, recall, f1 and iou (means "
                        "over classes)"))
          .key(key("class_recall", &S::class_recall)
                   .doc("limit of the recall of every class that `classes` does not name"))
          .key(key("class_precision", &S::class_precision)
                   .doc("limit of the precision of every class that `classes` does not name"))
          .key(key("class_iou", &S::class_iou)
                   .doc("limit of the intersection over union of every class that `classes` does not name"))
          .key(key("classes", &S::classes).doc("limits of single classes, by name"))
          .key(key("baseline", &S::baseline)
                   .doc("folder of a run to compare with, or several of one training with other seeds"))
          .key(key("runs", &S::runs).doc("folders of further runs of the training, with other seeds"))
          .key(key("compare", &S::compare)
                   .doc("trainings: differences that seeds explain do not count; models: the weights as they are"))
          .key(key("drop", &S::drop).doc("loss of right answers against the baseline that must be detected"))
          .key(key("class_drop", &S::class_drop)
                   .doc("loss of a class's recall against the baseline that must be detected"))
          .key(key("speed", &S::speed).doc("limits of the speed of the evaluation"))
          .key(key("size", &S::size).doc("limits of the size of the model"))
          .key(key("junit", &S::junit)
                   .doc("file for the results as JUnit XML; `eval` ignores it in the config of a checkpoint"))
          .rule<S>(section_error);
  return schema;
}

GatesSection load_gates(const std::string& path) {
  config::Diagnostics diagnostics;
  const config::Node root = config::load_file(path, diagnostics);
  config::Reader reader(diagnostics);
  GatesSection gates;
  diagnostics.throw_if_errors();
  const config::Node* const section = root.find("gates");
  if (section == nullptr && (root.find("dptrain") != nullptr || root.is_null()))
    throw Error(ErrorKind::kUsage, fmt::format("{}: there are no gates; give a file of gates, or a config with the "
                                               "section 'gates'",
                                               path));
  config::Value<GatesSection>::read(section != nullptr ? *section : root, reader, gates);
  diagnostics.throw_if_errors();
  return gates;
}

}  // namespace dptrain::experiment
