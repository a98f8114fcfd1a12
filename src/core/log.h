#pragma once

#include <string>

namespace dptrain::log {

// Lines a person or a script reads. Results and progress lines go to stdout, warnings and errors to stderr; with kJson
// all lines but results go to stderr, one object each. All but results also go into the run's train.log once one is
// opened. Names in lines may come from anybody: control characters, but line breaks and tabs, are written as
// printable() writes them. Safe from every thread. Never called inside a step.

enum class Format { kText, kJson };

struct Options {
  Format format = Format::kText;
  bool quiet = false;    ///< no info lines on stdout
  bool verbose = false;  ///< debug lines too
  bool color = false;    ///< only on a terminal, and not with NO_COLOR or TERM=dumb
};

void configure(const Options& options);
/// Of several processes this is not the first: from now on only its warnings and errors are shown, with `who` before
/// them
/// ("process 1 (node-b)"), and no results.
void speak_as(const std::string& who);
/// Whether lines, and results that have a structure, are JSON.
bool is_json();
/// From now on every line also goes into this file (appended). Throws Error{kWrite}.
void open_file(const std::string& path);
void close_file();

void debug(const std::string& line);
void info(const std::string& line);
void notice(const std::string& line);  ///< stderr, as it is, also with `quiet`: an answer to the user
void warn(const std::string& line);    ///< stderr, "warning: " before it
void error(const std::string& line);   ///< stderr, as it is: the caller has composed the whole text
/// A terminal that is closed and a reader that ends (`| head`) take lines with them and nothing else: SIGPIPE is
/// ignored from now on, and they are no stdout_failure(). For what must go on to its end.
void outlive_readers();
/// errno of the first write to stdout that failed, 0: none.
int stdout_failure();

/// A line on a terminal's stderr that stays where it is: the next one replaces it, and any other line removes it first.
/// "": removes it.
void show_status(const std::string& text);
/// From now on there is none.
void hide_status();

/// A result on stdout even with --quiet, never decorated (tables, `name: value`).
void print(const std::string& text);

}  // namespace dptrain::log
