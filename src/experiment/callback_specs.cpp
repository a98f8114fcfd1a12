#include "experiment/callback_specs.h"

#include <array>
#include <cctype>
#include <stdexcept>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "experiment/sections.h"

namespace dptrain::config {
template <>
struct EnumNames<experiment::MonitorMode> {
  static constexpr std::array names{std::pair{experiment::MonitorMode::kAuto, "auto"},
                                    std::pair{experiment::MonitorMode::kMin, "min"},
                                    std::pair{experiment::MonitorMode::kMax, "max"}};
};
}  // namespace dptrain::config

namespace dptrain::experiment {
namespace {

config::Family make_family() {
  using config::key;
  using config::Schema;
  using config::type_def;
  config::Family family("callback");
  using M = ModelCheckpointSpec;
  family.add(type_def<M>(Schema::of<M>("ModelCheckpoint")
                             .positional(key("filepath", &M::filepath))
                             .key(key("monitor", &M::monitor))
                             .key(key("save_best_only", &M::save_best_only))
                             .key(key("save_weights_only", &M::save_weights_only))
                             .key(key("mode", &M::mode))
                             .key(key("save_freq", &M::save_freq))
                             .key(key("initial_value_threshold", &M::initial_value_threshold))
                             .key(key("max_to_keep", &M::max_to_keep).at_least(1))
                             .former("period", "write save_freq: N epochs")));
  using E = EarlyStoppingSpec;
  family.add(type_def<E>(Schema::of<E>("EarlyStopping")
                             .positional(key("monitor", &E::monitor))
                             .key(key("min_delta", &E::min_delta))
                             .key(key("patience", &E::patience).at_least(0))
                             .key(key("mode", &E::mode))
                             .key(key("baseline", &E::baseline))
                             .key(key("restore_best_weights", &E::restore_best_weights))
                             .key(key("start_from_epoch", &E::start_from_epoch).at_least(0))));
  using R = ReduceLROnPlateauSpec;
  family.add(type_def<R>(Schema::of<R>("ReduceLROnPlateau")
                             .positional(key("monitor", &R::monitor))
                             .key(key("factor", &R::factor).above(0).below(1))
                             .key(key("patience", &R::patience).at_least(0))
                             .key(key("mode", &R::mode))
                             .key(key("min_delta", &R::min_delta))
                             .key(key("cooldown", &R::cooldown).at_least(0))
                             .key(key("min_lr", &R::min_lr).at_least(0))));
  using C = CSVLoggerSpec;
  family.add(type_def<C>(Schema::of<C>("CSVLogger")
                             .positional(key("filename", &C::filename))
                             .key(key("separator", &C::separator))
                             .key(key("append", &C::append))));
  family.add(type_def<TerminateOnNaNSpec>(Schema::of<TerminateOnNaNSpec>("TerminateOnNaN")));
  family.add(type_def<TimeHistorySpec>(Schema::of<TimeHistorySpec>("TimeHistory")));
  return family;
}

/// printf-style conversion of one Python format spec such as "02d" or ".3f".
std::string format_value(const std::string& spec, double value, bool integral) {
  constexpr std::size_t kLongest = 6;  // "010.4f": a name of a file needs no width of thousands
  if (spec.empty()) return integral ? fmt::format("{}", static_cast<std::int64_t>(value)) : shortest(value);
  try {
    if (spec.size() > kLongest) throw std::runtime_error("too long");
    if (integral) return fmt::format(fmt::runtime("{:" + spec + "}"), static_cast<std::int64_t>(value));
    return fmt::format(fmt::runtime("{:" + spec + "}"), value);
  } catch (const std::runtime_error&) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("ModelCheckpoint: filepath: '{}' is not a format; try {{epoch:02d}} or {{val_loss:.2f}}", spec));
  }
}

}  // namespace

config::Family& callback_family() {
  static config::Family family = make_family();
  return family;
}

std::string format_filepath(const std::string& pattern, std::int64_t epoch_from_1, std::int64_t batch_from_1,
                            const Logs& logs) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    const std::size_t close = pattern.find('}', i);
    if (close == std::string::npos)
      throw Error(ErrorKind::kUsage, fmt::format("ModelCheckpoint: filepath '{}': '{{' without '}}'", pattern));
    const std::string field = pattern.substr(i + 1, close - i - 1);
    const std::size_t colon = field.find(':');
    const std::string name = field.substr(0, colon), spec = colon == std::string::npos ? "" : field.substr(colon + 1);
    if (name == "epoch") {
      out += format_value(spec, static_cast<double>(epoch_from_1), true);
    } else if (name == "batch" && batch_from_1 > 0) {
      out += format_value(spec, static_cast<double>(batch_from_1), true);
    } else if (const double* value = logs.find(name)) {
      out += format_value(spec, *value, false);
    } else {
      throw Error(ErrorKind::kUsage,
                  fmt::format("ModelCheckpoint: filepath '{}': there is no '{}'; there are epoch, {}", pattern, name,
                              logs.names()));
    }
    i = close;
  }
  return out;
}

}  // namespace dptrain::experiment
