#pragma once

// The lines logged before a run: versions, devices, batch, model, and the time that the start took. Main thread.

#include <string>
#include <vector>

#include "nn/schedule.h"
#include "session/session.h"

namespace dptrain::cli {

/// `run`: the run's folder, or another purpose ("evaluation").
std::vector<std::string> run_header(session::Session& session, const std::string& run);

/// A warning if a schedule with `decay_steps` hardly changes the rate within `run_epochs`, one or more; else "".
std::string slow_decay_text(const nn::LearningRate& rate, const nn::Epoch& epoch, double run_epochs);

void warn_of_large_batch(session::Session& session);
/// "512 samples = 2 x 256; 118 steps an epoch, the last with 96; learning rate 0.001"
std::string batch_line(session::Session& session);
/// The rows of each replica: "2 x 256"; "171 + 171 + 170" for a few that differ, "29 x 2 + 70 x 1" for many.
std::string sum_text(const std::vector<std::int64_t>& parts);
/// The lines of up to eight replicas; for more "99 replicas: cpu:0 to cpu:98, each 1 thread, AVX2".
std::string devices_text(const std::vector<std::string>& lines);
/// "2 replicas: cpu:0 1 thread, AVX2; cpu:1 1 thread, AVX2"
std::string devices_line(const session::Session& session);

}  // namespace dptrain::cli
