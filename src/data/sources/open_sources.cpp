#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <utility>

#include "config/diagnostics.h"
#include "config/json_fragment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/sources/dataset.h"
#include "data/sources/split.h"
#include "data/sources/synthetic.h"

namespace dptrain::config {
namespace {

using Names = std::vector<std::string>;

}  // namespace

bool Value<ClassNames>::read(const Node& node, Reader& reader, ClassNames& out) {
  out = {};
  const Node found = reader.substituted(node);
  Names names;
  if (!found.is_map()) {
    if (!Value<Names>::read(node, reader, names)) return false;
    out = std::move(names);
    return true;
  }
  bool good = true;
  for (const Node::Entry& entry : found.entries()) {
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    good = Value<Names>::read(entry.value, reader, names) && good;
    out.add(entry.key, std::move(names));
  }
  return good;
}

Node Value<ClassNames>::write(const ClassNames& value) {
  if (!value.has_named_output()) return Value<Names>::write(value.first());
  Node map = Node::map();
  for (const ClassNames::Entry& entry : value.entries()) map.set(entry.output, Value<Names>::write(entry.names));
  return map;
}

Node Value<ClassNames>::schema() {
  const Node names = Value<Names>::schema();
  return fragment::any_of({names, detail::map_schema(names)});
}

}  // namespace dptrain::config

namespace dptrain::data {

config::Family& dataset_family() {
  static config::Family family("data set");
  return family;
}

namespace {

constexpr std::array<const char*, 3> kRoleNames{"train", "validation", "test"};

/// State of the roles, in the order train, validation, test.
struct Roles {
  std::array<const config::Typed*, 3> specs;
  std::array<std::shared_ptr<const Source>, 3> whole;   ///< before splitting
  std::array<std::vector<std::int64_t>, 3> rest;        ///< samples of `whole` outside all Splits
  std::array<std::vector<std::int64_t>, 3> held_out{};  ///< of a Split: its samples in the origin's `whole`
  std::array<std::shared_ptr<const Source>, 3> result;
};

[[noreturn]] void fail_at_mark(const config::Mark& mark, ErrorKind kind, const std::string& message) {
  if (!mark.known()) throw Error(kind, message);
  config::Diagnostics diagnostics;
  diagnostics.error(mark, message);
  throw config::ConfigError(diagnostics, kind);
}

bool is_part(const config::Typed& spec) { return static_cast<bool>(def_of(spec).part); }
const DatasetCommon& common(const config::Typed& spec) { return def_of(spec).common(spec.spec()); }

/// Place of the path that begins the message, else of the data set.
config::Mark place_of(const config::Typed& spec, const std::string& message) {
  for (const config::Path& path : def_of(spec).paths(spec.spec()))
    if (message.starts_with(path.value) && path.mark.known()) return path.mark;
  return spec.mark();
}

std::shared_ptr<const Source> taken(std::shared_ptr<const Source> source, const config::Typed& spec) {
  const std::optional<std::int64_t>& count = common(spec).take;
  return count ? take(std::move(source), *count) : source;
}

}  // namespace

void fail_at(const config::Typed& spec, ErrorKind kind, const std::string& message) {
  fail_at_mark(spec.mark(), kind, spec.name() + ": " + message);
}

std::shared_ptr<const Source> open_data_set(const config::Typed& spec, const ModelSide& model, Role role) {
  try {
    return taken(def_of(spec).open(spec.spec(), model, role), spec);
  } catch (const config::ConfigError&) {
    throw;  // already has a place
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) fail_at(spec, error.kind(), error.what());
    if (error.kind() != ErrorKind::kData) throw;
    fail_at_mark(place_of(spec, error.what()), error.kind(), error.what());
  }
}

namespace {

void check_class_names(const config::Typed& spec, const ModelSide& model) {
  if (model.outputs.size() != 1) return;
  const std::string output = model.output_names.empty() ? "" : model.output_names.front();
  const auto names = static_cast<std::int64_t>(common(spec).class_names.names_of(output).size());
  const Shape& shape = model.outputs.front();  // classes are the last axis
  const std::int64_t width = shape.rank() > 0 ? shape.back() : 1;
  if (names > 0 && width > 1 && names != width)
    fail_at(
        spec, ErrorKind::kUsage,
        fmt::format("class_names lists {}, but the model has {}", counted(names, "name"), counted(width, "output")));
}

/// Checks that class names match labels with classes.
void check_class_names(const config::Typed& spec, const Source& source) {
  const ClassNames& given = common(spec).class_names;
  std::vector<std::string> labels, of_classes;
  for (int which = 0; which < source.labels(); ++which) {
    labels.push_back(source.label_name(which));
    const LabelType type = source.label_type(which);
    if (type == LabelType::kClass || type == LabelType::kMap) of_classes.push_back(labels.back());
  }
  if (!given.has_named_output()) {
    if (!given.empty() && of_classes.size() > 1)
      log::warn(fmt::format("{}: class_names is one list, and the labels {} have classes; write {{{}: [...], ...}}",
                            spec.name(), join(of_classes, ", "), of_classes.front()));
    return;
  }
  for (const ClassNames::Entry& entry : given.entries())
    if (std::ranges::find(labels, entry.output) == labels.end())
      fail_at(spec, ErrorKind::kUsage,
              fmt::format("class_names names the label '{}'; the data set has {}{}", entry.output,
                          labels == std::vector<std::string>{""} ? "one label without a name, which needs a list"
                                                                 : join(labels, ", "),
                          did_you_mean(entry.output, labels)));
}

/// Index of the role that a Split is part of.
std::size_t origin(const Roles& roles, std::size_t self) {
  const config::Typed& spec = *roles.specs[self];
  const std::string of = def_of(spec).part(spec.spec()).of;
  const auto* const found = std::find(kRoleNames.begin(), kRoleNames.end(), of);
  if (found == kRoleNames.end()) {
    const std::vector<std::string> names(kRoleNames.begin(), kRoleNames.end());
    fail_at(spec, ErrorKind::kUsage,
            "of must be train, validation or test, found '" + of + "'" + did_you_mean(of, names));
  }
  const auto which = static_cast<std::size_t>(found - kRoleNames.begin());
  if (which == self) fail_at(spec, ErrorKind::kUsage, "of names '" + of + "', which is this data set itself");
  if (!*roles.specs[which])
    fail_at(spec, ErrorKind::kUsage, "of names '" + of + "', but there is no data set data." + of);
  if (is_part(*roles.specs[which]))
    fail_at(spec, ErrorKind::kUsage,
            "of names '" + of + "', which is a " + roles.specs[which]->name() +
                " itself; name the data set that both are part of");
  return which;
}

/// Takes a Split's samples from those that earlier Splits left, so that Splits never overlap. Fractions refer to the
/// whole data set.
void apply_split(Roles& roles, std::size_t self, std::uint64_t seed) {
  const config::Typed& typed = *roles.specs[self];
  const DatasetPart part = def_of(typed).part(typed.spec());
  const std::size_t from = origin(roles, self);
  if (!(part.fraction > 0 && part.fraction < 1))
    fail_at(typed, ErrorKind::kUsage,
            fmt::format("fraction must be between 0 and 1, found {}", shortest(part.fraction)));
  const Source& whole = *roles.whole[from];
  SplitIndices parts;
  try {
    parts = part.shuffle ? split_indices(whole, roles.rest[from], part.fraction, part.stratified,
                                         part.seed.value_or(seed), static_cast<std::uint32_t>(self))
                         : split_last(whole, roles.rest[from], part.fraction);
  } catch (const Error& error) {
    fail_at(typed, error.kind(), error.what());
  }
  roles.rest[from] = std::move(parts.remaining);
  roles.held_out[self] = std::move(parts.held_out);
}

/// Applies the Splits of all roles, requested or not, so that a sample's role does not depend on the request. Ordered
/// Splits are first, from the end: test takes the last samples, validation those before.
void apply_splits(Roles& roles, std::size_t from, std::uint64_t seed) {
  const auto apply = [&](std::size_t r, bool shuffle) {
    const config::Typed& spec = *roles.specs[r];
    if (spec && is_part(spec) && def_of(spec).part(spec.spec()).shuffle == shuffle && origin(roles, r) == from)
      apply_split(roles, r, seed);
  };
  for (std::size_t r = roles.specs.size(); r-- > 0;) apply(r, false);
  for (std::size_t r = 0; r < roles.specs.size(); ++r) apply(r, true);
}

/// Clears `model.fitted_state`, to fit again, if the model of `model.weights` has other columns or encoders.
std::shared_ptr<const Source> open_as_fitted(const config::Typed& spec, ModelSide& model, Role role) {
  try {
    return open_data_set(spec, model, role);
  } catch (const Error& other) {
    if (model.fitted_state.empty() || model.fitted_use != FittedUse::kInputsIfPossible) throw;
    model.fitted_state.clear();
    std::shared_ptr<const Source> source = open_data_set(spec, model, role);
    const std::string reason = other.what();
    log::warn(
        fmt::format("the vocabularies and means in the file of model.weights are not used, new ones are fitted "
                    "to data.train: {}",
                    reason.substr(0, reason.find('\n'))));
    return source;
  }
}

/// Sets `model.fitted_state` to the result of Source::fit(), if any. The other roles use it unchanged.
void fit(const Source& train, const std::vector<std::int64_t>& samples, ModelSide& model) {
  if (std::string fitted = train.fit(samples); !fitted.empty()) model.fitted_state = std::move(fitted);
  model.fitted_use = FittedUse::kExact;
}

/// Opens the data set of a role and selects the samples of it and of its Splits. data.train sets `model.fitted_state`.
void open_role(Roles& roles, std::size_t role, ModelSide& model, std::uint64_t seed) {
  const config::Typed& spec = *roles.specs[role];
  if (needs_fit(spec) && model.fitted_state.empty() && role != 0)
    fail_at(spec, ErrorKind::kUsage,
            "its vocabularies and means come from data.train, which is of another kind or missing; make data.train a " +
                spec.name());
  std::shared_ptr<const Source>& whole = roles.whole[role];
  whole = open_as_fitted(spec, model, static_cast<Role>(role));
  check_class_names(spec, *whole);
  roles.rest[role].resize(static_cast<std::size_t>(whole->size()));
  std::iota(roles.rest[role].begin(), roles.rest[role].end(), 0);
  apply_splits(roles, role, seed);
  try {
    if (model.fitted_state.empty() || model.fits_labels()) fit(*whole, roles.rest[role], model);
    if (std::shared_ptr<const Source> fitted_source = whole->fitted_source(model.fitted_state))
      whole = std::move(fitted_source);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kUsage) fail_at(spec, error.kind(), error.what());
    if (error.kind() != ErrorKind::kData) throw;
    fail_at_mark(place_of(spec, error.what()), error.kind(), error.what());
  }
  const bool all = std::cmp_equal(roles.rest[role].size(), whole->size());
  roles.result[role] = all ? whole : subset(whole, roles.rest[role], "rest");
  for (std::size_t r = 0; r < roles.specs.size(); ++r)
    if (!roles.held_out[r].empty() && origin(roles, r) == role)
      roles.result[r] = taken(subset(whole, std::move(roles.held_out[r]), "split"), *roles.specs[r]);
}

/// Classes are positions in the list of names, so the lists of all roles must be equal.
void check_same_classes(const Roles& roles) {
  ClassNames names;
  std::size_t from = 0;
  for (std::size_t r = 0; r < roles.result.size(); ++r) {
    const ClassNames found = roles.result[r] ? class_names_of(*roles.result[r]) : ClassNames();
    if (names.empty()) names = found, from = r;
    if (found.differs_from(names))
      fail_at(*roles.specs[r], ErrorKind::kData,
              fmt::format("the classes of data.{} are {}, those of data.{} {}; give both the same class_names",
                          kRoleNames[r], found.text(), kRoleNames[from], names.text()));
  }
}

Sources open_all(const DatasetConfig& datasets, ModelSide model, std::uint64_t seed, const RoleSelection& selection) {
  Roles roles{.specs = {&datasets.train, &datasets.validation, &datasets.test}, .whole = {}, .rest = {}, .result = {}};
  const auto is_split = [&](std::size_t r) { return is_part(*roles.specs[r]); };
  for (std::size_t r = 0; r < roles.specs.size(); ++r) {  // errors in the config are reported before files are read
    if (!*roles.specs[r]) continue;
    check_class_names(*roles.specs[r], model);
    if (is_split(r)) origin(roles, r);
  }
  if (model.fits_labels() && *roles.specs[0] && !needs_fit(*roles.specs[0])) model.fitted_state.clear();
  const std::array<bool, 3> selected{selection.train, selection.validation, selection.test};
  std::array<bool, 3> opened = selected;
  for (std::size_t r = 0; r < roles.specs.size(); ++r) {
    if (!selected[r] || !*roles.specs[r]) continue;
    if (is_split(r))
      opened[origin(roles, r)] = true;
    else if (needs_fit(*roles.specs[r]) && model.fitted_state.empty() && *roles.specs[0])
      opened[0] = true;
  }
  config::Diagnostics missing;
  find_missing(datasets, {.train = opened[0], .validation = opened[1], .test = opened[2]}, missing);
  missing.throw_if_errors(ErrorKind::kData);
  for (std::size_t r = 0; r < roles.specs.size(); ++r)
    if (opened[r] && *roles.specs[r] && !is_split(r)) open_role(roles, r, model, seed);
  check_same_classes(roles);
  for (std::size_t r = 0; r < selected.size(); ++r)
    if (!selected[r]) roles.result[r].reset();
  return {.train = roles.result[0],
          .validation = roles.result[1],
          .test = roles.result[2],
          .fitted_state = std::move(model.fitted_state)};
}

}  // namespace

void find_missing(const DatasetConfig& datasets, const RoleSelection& selection, config::Diagnostics& diagnostics) {
  const std::array<std::pair<bool, const config::Typed*>, 3> roles{std::pair{selection.train, &datasets.train},
                                                                   {selection.validation, &datasets.validation},
                                                                   {selection.test, &datasets.test}};
  std::error_code ignored;
  for (std::size_t r = 0; r < roles.size(); ++r) {
    const auto [is_wanted, spec] = roles[r];
    if (!is_wanted || !*spec) continue;
    for (const config::Path& path : def_of(*spec).paths(spec->spec()))
      if (!std::filesystem::exists(path.value, ignored))
        diagnostics.error(path.mark, fmt::format("data.{}: no such file or folder: {}{}", kRoleNames[r], path.value,
                                                 missing_file_advice(path.value)));
  }
}

Sources open_sources(const DatasetConfig& datasets, const ModelSide& model, std::uint64_t seed,
                     const RoleSelection& selection) {
  return open_all(datasets, model, seed, selection);
}

Sources synthetic_sources(const DatasetConfig& datasets, const ModelSide& model, std::uint64_t seed,
                          const RoleSelection& selection) {
  // All roles use the default seed, from which the class means are drawn.
  const auto stand_in = [&](const config::Typed& spec, std::int64_t samples) {
    if (spec && def_of(spec).is_synthetic) return spec;
    SyntheticSpec synthetic;
    synthetic.samples = samples;
    if (spec) synthetic.take = common(spec).take, synthetic.class_names = common(spec).class_names;
    if (model.output_names.size() == 1)  // its labels have no name
      synthetic.class_names = synthetic.class_names.names_of(model.output_names.front());
    return dataset_family().make(std::move(synthetic));
  };
  // Synthetic's default number of training samples, a fifth of it for the other roles.
  const std::int64_t train = SyntheticSpec{}.samples;
  DatasetConfig replaced;
  replaced.train = stand_in(datasets.train, train);
  if (datasets.validation) replaced.validation = stand_in(datasets.validation, train / 5);
  if (datasets.test) replaced.test = stand_in(datasets.test, train / 5);
  return open_all(replaced, model, seed, selection);
}

std::shared_ptr<const Source> open_path(const std::string& path) {
  for (const config::TypeDef* type : dataset_family().types())
    if (const auto& def = static_cast<const DatasetDef&>(*type); def.open_path)
      if (auto source = def.open_path(path)) return source;
  return nullptr;
}

}  // namespace dptrain::data
