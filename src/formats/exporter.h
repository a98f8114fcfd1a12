#pragma once

// Exporters write a model into a file of another program. There is one per format, a definition that registers itself,
// and the suffix of the path chooses it:
//   const RegisteredExporter kKeras({.name = "Keras", .suffixes = {".h5"}, .write = write_keras});
// The family is filled before main and read-only afterwards: any thread may read it, and write with it; two writers of
// the same path must take turns.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/class_names.h"
#include "formats/compiled.h"
#include "formats/preparation.h"
#include "graph/model.h"

namespace dptrain::formats {

/// The contents of a file. A format leaves out what it cannot represent.
struct Exported {
  const graph::Model& model;  ///< every weight with its values
  Compiled compiled{};
  ClassNames class_names{};
  std::string learned{};                            ///< JSON: what samples are made with, data::Source::learn()
  std::optional<OptimizerState> optimizer_state{};  ///< of compiled.optimizer
  std::optional<std::int64_t> opset{};              ///< of ONNX's operators; the other formats have none
  const Preparation* preparation = nullptr;         ///< not null: raw samples come in; ONNX
  bool free_steps = false;  ///< sequences of any length come in, not together with a preparation; ONNX
};

struct Exporter {
  std::string name;                   ///< of the program or the format: "Keras"
  std::vector<std::string> suffixes;  ///< ".h5"
  std::vector<std::string> others{};  ///< longer ones, which end like its own and are of other formats: ".weights.h5"
  /// Writes the file as a whole or not at all; returns its bytes. Throws Error{kWrite}, and Error{kUsage} where the
  /// format cannot say the model.
  std::function<std::uint64_t(const std::string& path, const Exported&)> write;
  /// What whoever opens the file has to know, one sentence each. Without it: nothing.
  std::function<std::vector<std::string>(const std::string& path, const graph::Graph&)> advice{};

  bool takes(const std::string& path) const;
};

/// By name.
const std::vector<Exporter>& exporters();
/// ".h5 (Keras) or .onnx (ONNX)"
std::string known_suffixes();
/// By the suffix of the path; null where no format has it.
const Exporter* find_exporter(const std::string& path);
/// Throws Error{kUsage} that lists the suffixes.
const Exporter& exporter_of(const std::string& path);

/// A static object of this type puts an exporter into the family before main.
struct RegisteredExporter {
  explicit RegisteredExporter(Exporter exporter);
};

}  // namespace dptrain::formats
