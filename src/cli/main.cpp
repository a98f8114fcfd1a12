#include "cli/commands.h"

int main(int argc, char** argv) {
  dptrain::cli::App app;
  dptrain::cli::add_commands(app);
  return app.run(argc, argv);
}
