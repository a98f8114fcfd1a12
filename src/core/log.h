#pragma once

#include <string>

namespace dptrain::log {

// Lines for people and scripts. Results and progress go to stdout, warnings and errors to stderr; with kJson all lines
// except results go to stderr, one object each. The run's train.log, once open, gets all lines except results. Control
// characters in lines are written as by printable(). Any thread. Never called inside a step.

enum class Format { kText, kJson };

struct Options {
  Format format = Format::kText;
  bool quiet = false;    ///< no info lines on stdout
  bool verbose = false;  ///< debug lines too
  bool color = false;    ///< only on a terminal, and not with NO_COLOR or TERM=dumb
};

void configure(const Options& options);
/// For all processes except the first: later calls print only warnings and errors, after the prefix `prefix_of_process`
/// ("process 1 (node-b)"), and no results.
void set_process_prefix(const std::string& prefix_of_process);
/// Whether lines, and results that have a structure, are JSON.
bool is_json();
/// Also appends every later line to this file. Throws Error{kWrite}.
void open_file(const std::string& path);
void close_file();

void debug(const std::string& line);
void info(const std::string& line);
void notice(const std::string& line);  ///< An answer to the user: to stderr unchanged, also with `quiet`.
void warn(const std::string& line);    ///< To stderr after "warning: ".
void error(const std::string& line);   ///< To stderr after "error: ".
/// To stderr unchanged: a text with its own prefix or locations, as cli/app.cpp composes from an Error.
void composed_error(const std::string& text);
/// Ignores SIGPIPE from now on. A closed terminal or a reader that ends (`| head`) then loses its lines, and
/// stdout_failure() does not count it. For commands that must run to their end even then.
void ignore_sigpipe();
/// errno of the first write to stdout that failed; 0: none.
int stdout_failure();

/// Shows a status line at the bottom of a terminal's stderr. The next call replaces it, and other lines appear above
/// it. "" removes it.
void show_status(const std::string& text);
/// Removes the status line for the rest of the process.
void hide_status();

/// A result on stdout even with --quiet, never decorated (tables, `name: value`).
void print(const std::string& text);

}  // namespace dptrain::log
