#pragma once

// An engine on its way from the GPU that planned it to its equals. Any thread.

#include <memory>

#include "backend/cuda/engine_share.h"

namespace dptrain::backend::cuda {

/// What other GPUs make the plan of.
std::shared_ptr<const SharedEngine> shared_engine(const EnginePlan& plan);

/// The plan of `graph`, which is that of the engine's problem with engine.fused: read from cuDNN's text, which compiles
/// nothing; where there is none, or cuDNN does not take it here, the same engine planned by its name. `query` as of the
/// GPU that planned it. Throws Error{kDevice} where this GPU does not have the engine.
EnginePlan take_engine(const SharedEngine& engine, std::shared_ptr<const ConvGraph> graph,
                       const DeviceProperties& device, EngineQuery query);

}  // namespace dptrain::backend::cuda
