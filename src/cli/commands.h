#pragma once

// The commands, each defined in the file of its name. Main thread, before parsing.

#include "cli/app.h"

namespace dptrain::cli {

using AddCommand = void(App& app);

AddCommand add_fit, add_resume, add_sweep, add_eval, add_predict, add_bench, add_verify, add_replay, add_check,
    add_data, add_summary, add_config, add_ckpt, add_export, add_plot, add_report, add_devices, add_init,
    add_completion, add_man;

/// Adds all commands in the order of the help.
inline void add_commands(App& app) {
  for (AddCommand* const add : {add_fit,    add_resume, add_sweep,   add_eval,    add_predict,    add_bench, add_verify,
                                add_replay, add_check,  add_data,    add_summary, add_config,     add_ckpt,  add_export,
                                add_plot,   add_report, add_devices, add_init,    add_completion, add_man})
    add(app);
}

}  // namespace dptrain::cli
