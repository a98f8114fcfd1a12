# What a CUDA toolkit can do, for scripts/gpu/pack.sh and scripts/package.sh. Sourced.

# nvcc_release NVCC: "13.0".
nvcc_release() { "$1" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p'; }

# at_least RELEASE RELEASE: the first is the second or newer.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

# cuda_flags NVCC [ARCH]: CMake's arguments, one a line. Without ARCH the GPUs are those of cmake/Gpu.cmake.
cuda_flags() {
  local nvcc=$1 arch=${2:-}
  if [ -n "$arch" ]; then printf '%s\n' "-DCMAKE_CUDA_ARCHITECTURES=$arch"; else printf '%s\n' -UCMAKE_CUDA_ARCHITECTURES; fi
  # Machine code for GPUs is compressed six times smaller than by default; the driver takes a moment longer to load it.
  if at_least "$(nvcc_release "$nvcc")" 12.8; then
    printf '%s\n' -DCMAKE_CUDA_FLAGS=--compress-mode=size
  else
    printf '%s\n' -UCMAKE_CUDA_FLAGS
  fi
}

# built_for BUILD: GPUs that a build folder compiles for.
built_for() { sed -n 's/^CMAKE_CUDA_ARCHITECTURES:[A-Z]*=//p' "$1/CMakeCache.txt"; }
