#pragma once

// The programs of a bundle for GPU hosts (scripts/gpu/pack.sh), as functions of one executable. Called from main().

/// src/cli/main.cpp
int dptrain_main(int argc, char** argv);
/// tests/plans/plan_check.cpp; without CUDA it prints an error and returns 77.
int plan_check_main(int argc, char** argv);
