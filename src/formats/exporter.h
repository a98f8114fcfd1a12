#pragma once

// Exporters write a model into a file of another program. There is one for each format, which registers itself. The
// suffix of the path selects it:
//   const RegisteredExporter kKeras({.name = "Keras", .suffixes = {".h5"}, .write = write_keras});
// The family is filled before main and read-only afterwards: any thread may read it and write with it, but two threads
// must not write the same path at once.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/class_names.h"
#include "formats/compile_config.h"
#include "formats/preparation.h"
#include "graph/model.h"

namespace dptrain::formats {

/// The contents of a file. A format omits what it cannot represent.
struct Exported {
  const graph::Model& model;  ///< every weight with its values
  CompileConfig compiled{};
  ClassNames class_names{};
  std::string fitted_state{};                       ///< JSON: fitted statistics, data::Source::fit()
  std::optional<OptimizerState> optimizer_state{};  ///< state of compiled.optimizer
  std::optional<std::int64_t> opset{};              ///< version of ONNX's operators; other formats have none
  const Preparation* preparation = nullptr;         ///< not null: the inputs are raw samples; ONNX
  bool free_steps = false;                          ///< sequences of any length, without a preparation; ONNX
};

struct Exporter {
  std::string name;                   ///< the program or the format: "Keras"
  std::vector<std::string> suffixes;  ///< ".h5"
  std::vector<std::string> others{};  ///< longer suffixes of other formats: ".weights.h5"
  /// Writes the whole file or nothing, and returns its bytes. Throws Error{kWrite}, and Error{kUsage} if the format
  /// cannot represent the model.
  std::function<std::uint64_t(const std::string& path, const Exported&)> write;
  /// Returns notes for users of the file.
  std::function<std::vector<std::string>(const std::string& path, const graph::Graph&)> advice{};

  bool matches(const std::string& path) const;
};

/// By name.
const std::vector<Exporter>& exporters();
/// ".h5 (Keras) or .onnx (ONNX)"
std::string known_suffixes();
/// By the suffix of the path; null if no format has it.
const Exporter* find_exporter(const std::string& path);
/// Throws Error{kUsage} that lists the suffixes.
const Exporter& exporter_of(const std::string& path);

/// A static object of this type puts an exporter into the family before main.
struct RegisteredExporter {
  explicit RegisteredExporter(Exporter exporter);
};

}  // namespace dptrain::formats
