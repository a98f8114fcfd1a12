# Compiles for AArch64 with Debian's cross compiler, and runs what was built in QEMU's user emulation. Libraries are the
# distribution's own for arm64 (dpkg --add-architecture arm64). Used by the preset "neon".

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
