// dptrain ckpt: what is in a checkpoint, and how two differ.

#include <memory>

#include "checkpoint/checkpoint.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::cli {
namespace {

struct Flags {
  std::string action;
  std::vector<std::string> files;
  std::optional<double> tolerance;
};

int show(const std::vector<std::string>& files) {
  for (const std::string& file : files) print_text(checkpoint::describe(checkpoint_file(file, {"last.h5"})));
  return 0;
}

int diff(const Flags& flags) {
  if (flags.files.size() != 2)
    throw Error(ErrorKind::kUsage, fmt::format("ckpt diff compares two files, found {}", flags.files.size()));
  const auto file = [&](std::size_t i) { return checkpoint_file(flags.files[i], {"last.h5"}); };
  const checkpoint::Difference difference = checkpoint::compare(file(0), file(1), flags.tolerance.value_or(0));
  print_text(difference.report);
  return difference.equal ? 0 : static_cast<int>(ErrorKind::kCheck);
}

int run(const Flags& flags) {
  if (flags.action == "show") return show(flags.files);
  if (flags.action == "diff") return diff(flags);
  const std::vector<std::string> actions{"show", "diff"};
  throw Error(ErrorKind::kUsage, fmt::format("ckpt: expected show or diff, found '{}'{}", flags.action,
                                             did_you_mean(flags.action, actions)));
}

}  // namespace

void add_ckpt(App& app) {
  const auto flags = std::make_shared<Flags>();
  Command& command = app.command("ckpt", "show what a checkpoint holds, or how two differ");
  command.describe(
      "show FILE... prints weights, optimizer state and position. diff A B compares everything; exit 0 when equal, 7 "
      "when not.");
  command.example("show runs/fashion-mnist/001/checkpoints/last.h5").example("diff runs/a/001 runs/a/002 --tol 1e-6");
  command.positional("show|diff", flags->action, "what to do");
  command.positionals("FILE", flags->files, "checkpoints, or runs' folders (their last.h5)");
  command.section("Comparison").option("--tol", "X", flags->tolerance, "differences up to this count as equal (0)");
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
