#include "experiment/experiment.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "config/config_loader.h"
#include "config/json_fragment.h"
#include "config/reader.h"
#include "config/synonyms.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/encoders/encoder.h"
#include "data/source.h"
#include "data/transform.h"
#include "experiment/callback_type.h"
#include "experiment/checks.h"
#include "experiment/keras_model.h"
#include "experiment/model_side.h"
#include "experiment/objectives.h"
#include "experiment/sections.h"
#include "graph/graph_builder.h"
#include "nn/activations.h"
#include "nn/initializer.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/schedule.h"

namespace dptrain::experiment {
namespace {

constexpr std::int64_t kSchemaVersion = 1;

/// The location of `section.key`, else of the section, else of the file's first line.
config::Mark place(const config::Node& root, const char* section_name, const char* key = nullptr) {
  const config::Node* in = root.find(section_name);
  if (in == nullptr) return root.mark();
  if (key != nullptr)
    for (const config::Node::Entry& entry : in->entries())
      if (entry.key == key) return entry.mark;
  for (const config::Node::Entry& entry : root.entries())
    if (entry.key == section_name) return entry.mark;
  return in->mark();
}

/// The location of the file that `model.weights` names: its key `file`, or the whole value.
config::Mark weights_place(const config::Node& root) {
  const config::Node* model = root.find("model");
  const config::Node* weights = model != nullptr && model->is_map() ? model->find("weights") : nullptr;
  if (weights == nullptr) return {};
  const config::Node* file = weights->is_map() ? weights->find("file") : nullptr;
  return file != nullptr ? file->mark() : weights->mark();
}

/// Whether a key of `train` is present, under its name or under a misspelling that was reported. Null counts as absent.
bool given(const config::Node& train, const char* key) {
  const config::Node* value = train.find(key);
  if (value != nullptr) return !value->is_null();
  return std::ranges::any_of(train.entries(), [&](const config::Node::Entry& entry) {
    const config::Synonym* synonym = config::find_synonym(entry.key, "train");
    return synonym != nullptr && synonym->answer == key;
  });
}

void exactly_one(config::Reader& reader, const config::Node& root, const char* first, const char* second) {
  const config::Node& train = *root.find("train");
  const bool a = given(train, first), b = given(train, second);
  if (a != b) return;
  reader.error(place(root, "train", a ? second : nullptr),
               a ? fmt::format("train: give {} or {}, not both", first, second)
                 : fmt::format("train: one of {} and {} is needed", first, second));
}

void check_train(config::Reader& reader, const config::Node& root, const ConfigFile& file) {
  const TrainSection& train = file.train;
  const config::Node* in = root.find("train");
  if (in == nullptr) return;                    // `summary` needs only a model; fit checks more
  if (!in->is_map() && !in->is_null()) return;  // already reported
  exactly_one(reader, root, "epochs", "steps");
  exactly_one(reader, root, "batch_size", "batch_size_per_replica");
  if (!given(*in, "loss")) reader.error(place(root, "train"), "train: missing argument 'loss'");
  if (train.lr_scaling != LrScaling::kNone && !train.reference_batch_size)
    reader.error(place(root, "train", "lr_scaling"),
                 "train: lr_scaling needs reference_batch_size, the global batch that learning_rate was chosen for");
  const auto& every = train.validate_every;
  using Unit = config::Duration::Unit;
  if ((every.unit != Unit::kBare && every.unit != Unit::kEpochs && every.unit != Unit::kSteps) || every.value < 1 ||
      every.value != std::floor(every.value))
    reader.error(
        place(root, "train", "validate_every"),
        "train: validate_every must be a whole number of epochs or of steps, such as '2 epochs' or '500 steps'");
  if (train.max_time && train.max_time->unit != Unit::kBare && train.max_time->unit != Unit::kSeconds)
    reader.error(place(root, "train", "max_time"), "train: max_time must be a time such as 30m");
}

void check_parallel(config::Reader& reader, const config::Node& root, const ConfigFile& file) {
  using Unit = config::Duration::Unit;
  const config::Duration& watchdog = file.parallel.watchdog;
  if ((watchdog.unit != Unit::kBare && watchdog.unit != Unit::kSeconds) || !(watchdog.value > 0))
    reader.error(place(root, "parallel", "watchdog"), "parallel: watchdog must be a time such as 60s, above 0");
}

/// Whether the text of the config contains the variable, even in an unused branch.
bool mentions(const config::Node& node, const std::string& variable) {
  if (node.is_scalar()) {
    const std::string& text = node.str();
    for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1)) {
      const std::size_t begin = at + (text.compare(at + 1, 1, "{") == 0 ? 2 : 1);
      std::size_t end = begin;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
      if (text.compare(begin, end - begin, variable) == 0) return true;
    }
    return false;
  }
  const auto inside = [&](const config::Node& part) { return mentions(part, variable); };
  return std::ranges::any_of(node.items(), inside) ||
         std::ranges::any_of(node.entries(), [&](const config::Node::Entry& entry) { return inside(entry.value); });
}

/// Reports a --var that nothing uses, which is probably misspelt.
void check_variables(const config::Node& root, const Overrides& overrides, config::Diagnostics& diagnostics) {
  const config::Node* vars = root.find("vars");
  std::vector<std::string> known;
  if (vars != nullptr)
    for (const config::Node::Entry& entry : vars->entries()) known.push_back(entry.key);
  for (const auto& [variable, value] : overrides.variables) {
    if (std::ranges::find(known, variable) != known.end() || mentions(root, variable)) continue;
    diagnostics.error({},
                      fmt::format("--var {}: nothing in the config uses ${}{}{}", variable, variable,
                                  known.empty() ? "; it has no variables" : "; its variables are " + join(known, ", "),
                                  did_you_mean(variable, known)));
  }
}

Experiment read(const config::Node& root, const std::string& name, config::Diagnostics& diagnostics,
                const Overrides& overrides) {
  Experiment experiment;
  experiment.file = name;
  config::Reader reader(diagnostics);
  for (const auto& [variable, value] : overrides.variables) reader.set_variable(variable, value);
  if (!root.is_map()) {
    const std::string where = root.mark().known() ? "" : name + ": ";
    diagnostics.error(root.mark(),
                      where + "a config is a mapping that starts with 'dptrain: 1', found " + root.describe());
    diagnostics.throw_if_errors();
  }
  check_variables(root, overrides, diagnostics);
  ConfigFile& file = experiment.config;
  if (const config::Node* vars = root.find("vars"); vars != nullptr) reader.read_defaults(*vars);
  config::Node sections = root;
  sections.erase("vars");
  sections.erase("model");  // its blocks have their own variables
  config_schema().read(sections, root.mark(), reader, &file, {"model", "vars"});
  if (file.dptrain != kSchemaVersion)
    reader.error(place(root, "dptrain"),
                 fmt::format("dptrain: schema version {} is not supported; this dptrain reads version {}", file.dptrain,
                             kSchemaVersion));
  if (file.name.empty()) file.name = std::filesystem::path(name).stem().string();

  if (const config::Node* model = root.find("model"); model != nullptr) {
    const std::size_t errors = diagnostics.errors().size();
    const config::Node layers = with_keras_layers(*model, reader);
    if (diagnostics.errors().size() == errors) experiment.graph = graph::build(layers, file.name, reader);
  } else {
    reader.error(root.mark(), "missing section 'model'");
  }
  experiment.weights_place = weights_place(root);
  check_train(reader, root, file);
  check_parallel(reader, root, file);
  check_virtual_shards(reader, place(root, "parallel", "virtual_shards"), file,
                       diagnostics.ok() ? &experiment.graph : nullptr);
  if (diagnostics.ok()) check_objectives(reader, file.train, experiment.graph);
  if (diagnostics.ok()) resolve_ignored_class(reader, file);
  if (diagnostics.ok()) check_mixed_labels(reader, file.data, file.train, experiment.graph);
  if (diagnostics.ok() && overrides.callbacks) {  // older runs with these metrics can still be evaluated
    warn_of_step_moments(diagnostics, file.train, experiment.graph);
    check_value_names(reader, place(root, "train"), file.train, experiment.graph);
    check_positional_labels(reader, file.data, file.train, experiment.graph);
  }
  if (diagnostics.ok()) check_length_buckets(reader, file.data, experiment.graph);
  check_callbacks(reader, file, overrides.callbacks && diagnostics.ok() ? &experiment.graph : nullptr);
  if (const config::Node* model = root.find("model"); model != nullptr && model->is_map() && diagnostics.ok())
    if (const config::Node* weights = model->find("weights"); weights && !reader.substituted(*weights).is_null())
      advise_preprocessing(experiment.graph, file.data, diagnostics);
  diagnostics.throw_if_errors();
  for (const config::Diagnostic& warning : diagnostics.warnings())
    experiment.warnings.push_back(fmt::format("{}: {}", warning.mark.str(), warning.message));
  return experiment;
}

const config::Node* find(const config::Node* map, const char* key) {
  return map != nullptr && map->is_map() ? map->find(key) : nullptr;
}

/// The value of a mapping with the single entry `Type: value`; else null.
const config::Node* arguments_of(const config::Node* typed) {
  return typed != nullptr && typed->is_map() && typed->entries().size() == 1 ? &typed->entries().front().value
                                                                             : nullptr;
}

/// Sets the optimizer's learning rate, or the highest rate of its schedule.
void set_learning_rate(config::Node& root, double value, config::Diagnostics& diagnostics) {
  std::string path = "train.optimizer";
  const config::Node* const optimizer = find(find(&root, "train"), "optimizer");
  if (optimizer == nullptr || optimizer->is_null()) path += "." + TrainSection{}.optimizer.name();
  if (const config::Node* const only = arguments_of(optimizer); only != nullptr && only->is_scalar()) {  // {Adam: 0.01}
    config::apply_set(root, fmt::format("{}.{}={}", path, optimizer->entries().front().key, shortest(value)),
                      diagnostics);
    return;
  }
  if (optimizer != nullptr && optimizer->is_scalar() && optimizer->str().starts_with('$')) {
    diagnostics.error(optimizer->mark(), fmt::format("--learning-rate: the optimizer is the variable {}; write --set "
                                                     "'train.optimizer={{Adam: {{learning_rate: {}}}}}'",
                                                     optimizer->str(), shortest(value)));
    return;
  }
  path += ".learning_rate";
  const config::Node* rate = find(arguments_of(optimizer), "learning_rate");
  while (const config::Node* const schedule = arguments_of(rate)) {
    constexpr std::array kRates{"then", "warmup_target", "initial_learning_rate"};
    const auto key = std::ranges::find_if(kRates, [&](const char* name) {
      const config::Node* const set = find(schedule, name);
      return set != nullptr && !set->is_null();
    });
    if (key == kRates.end()) {
      if (find(schedule, "values") == nullptr) return;  // the reader reports what is missing
      const config::Node::Entry& entry = rate->entries().front();
      diagnostics.error(entry.mark, fmt::format("--learning-rate: {} has several rates; change them here or with "
                                                "--set {}.values=[...]",
                                                entry.key, path));
      return;
    }
    path += fmt::format(".{}", *key);
    rate = find(schedule, *key);
  }
  config::apply_set(root, fmt::format("{}={}", path, shortest(value)), diagnostics);
}

Experiment finish(config::Node root, const std::string& name, config::Diagnostics& diagnostics,
                  const Overrides& overrides) {
  if (root.is_null()) diagnostics.throw_if_errors();  // a syntax error alone
  for (const std::string& assignment : overrides.sets) config::apply_set(root, assignment, diagnostics);
  if (overrides.learning_rate) set_learning_rate(root, *overrides.learning_rate, diagnostics);
  return read(root, name, diagnostics, overrides);
}

/// Removes null entries: null means absent.
config::Node without_nulls(const config::Node& node) {
  config::Node out = node;
  for (config::Node& item : out.items()) item = without_nulls(item);
  std::erase_if(out.entries(), [](const config::Node::Entry& entry) { return entry.value.is_null(); });
  for (config::Node::Entry& entry : out.entries()) entry.value = without_nulls(entry.value);
  return out;
}

/// The entries of a map that differ from the defaults, recursively.
config::Node without(const config::Node& node, const config::Node& defaults) {
  config::Node out = config::Node::map();
  for (const config::Node::Entry& entry : node.entries()) {
    const config::Node* other = defaults.find(entry.key);
    if (other != nullptr && config::same(entry.value, *other)) continue;
    const bool both_maps = other != nullptr && entry.value.is_map() && other->is_map();
    out.set(entry.key, both_maps ? without(entry.value, *other) : without_nulls(entry.value));
  }
  return out;
}

}  // namespace

Experiment load_experiment(const std::string& path, const Overrides& overrides) {
  config::Diagnostics diagnostics;
  config::Node root = config::load_file(path, diagnostics);
  return finish(std::move(root), path == "-" ? "stdin" : path, diagnostics, overrides);
}

Experiment load_experiment_text(const std::string& text, const std::string& name, const Overrides& overrides) {
  config::Diagnostics diagnostics;
  config::Node root = config::load_text(text, name, ".", diagnostics);
  return finish(std::move(root), name, diagnostics, overrides);
}

namespace {

/// Omits the arguments of types that equal their defaults.
void shorten_types(config::Node& all, const ConfigFile& file) {
  const auto put = [&](const char* section, const char* key, const config::Typed& typed) {
    config::Node* const map = all.find(section);
    if (typed && map != nullptr && map->find(key) != nullptr) map->set(key, typed.write(true));
  };
  const auto list = [](const auto& types) {
    config::Node items = config::Node::sequence();
    for (const config::Typed& typed : types) items.items().push_back(typed.write(true));
    return items;
  };
  put("data", "train", file.data.train);
  put("data", "validation", file.data.validation);
  put("data", "test", file.data.test);
  if (config::Node* const data = all.find("data"); data != nullptr)
    if (config::Node* const transforms = data->find("transforms"); transforms != nullptr) {
      if (transforms->find("train") != nullptr) transforms->set("train", list(file.data.transforms.train));
      if (transforms->find("eval") != nullptr) transforms->set("eval", list(file.data.transforms.eval));
    }
  put("train", "optimizer", file.train.optimizer);
  put("train", "on_nonfinite", file.train.on_nonfinite);
  if (config::Node* const train = all.find("train"); train != nullptr) {
    const auto put_by_output = [&](const char* key, const auto& argument, const auto& write) {
      if (!argument || train->find(key) == nullptr) return;
      config::Node by_output = config::Node::map();
      for (const auto& entry : argument.entries) by_output.set(entry.output, write(entry.value));
      train->set(key, argument.for_all() ? write(argument.entries.front().value) : by_output);
    };
    put_by_output("loss", file.train.loss, [](const config::Typed& loss) { return loss.write(true); });
    put_by_output("metrics", file.train.metrics, list);
  }
  if (all.find("callbacks") != nullptr) all.set("callbacks", list(file.callbacks));
}

}  // namespace

config::Node resolved(const Experiment& experiment, bool minimal) {
  config::Node all = config_schema().write(&experiment.config);
  if (minimal) {
    const ConfigFile defaults;
    all = without(all, config_schema().write(&defaults));
    shorten_types(all, experiment.config);
  }
  config::Node out = config::Node::map();
  out.set("dptrain", config::Node::integer(kSchemaVersion));
  out.set("name", config::Node::text(experiment.config.name));
  if (!minimal || experiment.config.seed != ConfigFile{}.seed)
    out.set("seed", config::Node::scalar(std::to_string(experiment.config.seed)));
  out.set("model", graph::write(experiment.graph, minimal));
  for (const config::Node::Entry& entry : all.entries())
    if (out.find(entry.key) == nullptr && !(entry.key == "gates" && entry.value.is_null()))
      out.set(entry.key, entry.value);
  if (config::Node* run_dir =
          out.find("run_dir"))  // the default is relative to the current directory, a path in a file to that file
    *run_dir = config::Node::text(std::filesystem::absolute(run_dir->str()).string());
  return out;
}

namespace {

/// Adds the rules of check_train() that a schema can express: one key of each pair, and a loss.
void require_in_train(config::Node& train) {
  using config::Node;
  const auto one_of = [](const char* first, const char* second) {
    Node choice = Node::map();
    choice.set("oneOf", Node::sequence({config::fragment::required(first), config::fragment::required(second)}));
    return choice;
  };
  train.set("required", Node::sequence({Node::text("loss")}));
  train.set("allOf", Node::sequence({one_of("epochs", "steps"), one_of("batch_size", "batch_size_per_replica")}));
}

/// Replaces the entries of `whole` in each map that has them all by a reference to the definition.
void refer(config::Node& schema, const config::Node& whole, const std::string& definition) {
  using config::Node;
  for (Node& item : schema.items()) refer(item, whole, definition);
  const bool holds = !schema.entries().empty() && std::ranges::all_of(whole.entries(), [&](const Node::Entry& theirs) {
    const Node* own = std::as_const(schema).find(theirs.key);
    return own != nullptr && config::same(*own, theirs.value);
  });
  if (holds) {
    for (const Node::Entry& theirs : whole.entries()) schema.erase(theirs.key);
    schema.entries().insert(schema.entries().begin(), config::fragment::reference(definition).entries().front());
  }
  for (Node::Entry& entry : schema.entries()) refer(entry.value, whole, definition);
}

/// Defines common parts once: activation names and common numbers, which would otherwise be half of the schema. Larger
/// parts are first because they contain the smaller ones.
void extract_common_definitions(config::Node& schema, config::Node& definitions) {
  namespace fragment = config::fragment;
  config::Node count = fragment::number("integer"), natural = count, fraction = fragment::number("number"),
               not_negative = fraction;
  count.set("minimum", config::Node::integer(1));
  natural.set("minimum", config::Node::integer(0));
  not_negative.set("minimum", config::Node::integer(0));
  fraction.set("minimum", config::Node::integer(0));
  fraction.set("maximum", config::Node::integer(1));
  const std::vector<std::pair<std::string, config::Node>> common = {
      {"activation", config::Value<nn::Activation>::schema()},
      {"counts", fragment::any_of({count, fragment::list(count)})},
      {"fraction", fraction},
      {"count", count},
      {"natural", natural},
      {"not_negative", not_negative},
      {"integer", fragment::number("integer")},
      {"number", fragment::number("number")},
      {"flag", fragment::boolean()},
  };
  for (const auto& [name, whole] : common) {
    refer(schema, whole, name);
    refer(definitions, whole, name);
  }
  for (const auto& [name, whole] : common) definitions.set(name, whole);
}

}  // namespace

config::Node json_schema() {
  config::Node schema = config_schema().json_schema();
  schema.set("$schema", config::Node::text("https://json-schema.org/draft/2020-12/schema"));
  schema.set("title", config::Node::text("dptrain config"));
  if (config::Node* properties = schema.find("properties"); properties != nullptr) {
    properties->set(
        "vars", config::fragment::described(
                    config::fragment::types({"object"}),
                    "`{NAME: value}`: defaults of the variables `$NAME`, which `--var` and the environment override"));
    properties->set("model", config::fragment::described(graph::json_schema(), "the network"));
    properties->find("dptrain")->set("const", config::Node::integer(kSchemaVersion));
    schema.find("required")->items().push_back(config::Node::text("model"));
    require_in_train(*properties->find("train"));
  }
  config::Node definitions = config::Node::map();
  graph::define_steps(definitions);
  for (const config::Family* family :
       {&nn::initializer_family(), &nn::regularizer_family(), &nn::optimizer_family(), &nn::schedule_family(),
        &nn::loss_family(), &nn::metric_family(), &data::transform_family(), &data::dataset_family(),
        &data::encoder_family(), &callback_family(), &nonfinite_family()})
    family->define(definitions);
  extract_common_definitions(schema, definitions);
  schema.set("$defs", std::move(definitions));
  return schema;
}

std::int64_t global_batch(const TrainSection& train, int replicas) {
  if (train.batch_size) return *train.batch_size;
  if (train.batch_size_per_replica) return *train.batch_size_per_replica * replicas;
  throw Error(ErrorKind::kUsage, "the config has no 'train' section with a batch_size; add one, or give --batch-size");
}

double rate_factor(const TrainSection& train, std::int64_t global_batch) {
  if (train.lr_scaling == LrScaling::kNone) return 1;
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(*train.reference_batch_size);
  return train.lr_scaling == LrScaling::kLinear ? ratio : std::sqrt(ratio);
}

Experiment load_with_warnings(const std::string& path, const Overrides& overrides) {
  Experiment experiment = load_experiment(path, overrides);
  for (const std::string& warning : experiment.warnings) log::warn(warning);
  return experiment;
}

}  // namespace dptrain::experiment
