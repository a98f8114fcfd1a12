#pragma once

// The lines before a run: versions, devices, the arithmetic of the batch, the model, and what took its time. Main
// thread.

#include <string>
#include <vector>

#include "session/session.h"

namespace dptrain::cli {

/// `run`: the run's folder, or what else is done ("evaluation").
std::vector<std::string> run_header(session::Session& session, const std::string& run);

/// "512 samples = 2 x 256; 118 steps an epoch, the last with 96; learning rate 0.001"
std::string batch_line(session::Session& session);
/// "2 replicas: cpu:0 1 thread, AVX2; cpu:1 1 thread, AVX2"
std::string devices_line(const session::Session& session);

}  // namespace dptrain::cli
