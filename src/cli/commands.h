#pragma once

// The commands, each defined in the file of its name. Main thread, before parsing.

#include "cli/app.h"

namespace dptrain::cli {

void add_fit(App& app);
void add_resume(App& app);
void add_sweep(App& app);
void add_eval(App& app);
void add_predict(App& app);
void add_bench(App& app);
void add_verify(App& app);
void add_replay(App& app);
void add_check(App& app);
void add_data(App& app);
void add_summary(App& app);
void add_config(App& app);
void add_ckpt(App& app);
void add_export(App& app);
void add_plot(App& app);
void add_report(App& app);
void add_devices(App& app);
void add_init(App& app);
void add_completion(App& app);
void add_man(App& app);

/// Adds all commands in the order of the help.
inline void add_commands(App& app) {
  add_fit(app);
  add_resume(app);
  add_sweep(app);
  add_eval(app);
  add_predict(app);
  add_bench(app);
  add_verify(app);
  add_replay(app);
  add_check(app);
  add_data(app);
  add_summary(app);
  add_config(app);
  add_ckpt(app);
  add_export(app);
  add_plot(app);
  add_report(app);
  add_devices(app);
  add_init(app);
  add_completion(app);
  add_man(app);
}

}  // namespace dptrain::cli
