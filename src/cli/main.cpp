#include <csignal>

#include "backend/device.h"
#include "cli/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding a file size limit is a failed write, not a fatal signal
  dptrain::backend::limit_cpu_isa();
  dptrain::cli::App app;
  dptrain::cli::add_commands(app);
  return app.run(argc, argv);
}
