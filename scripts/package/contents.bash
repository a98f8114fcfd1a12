# Metadata of the .deb, and the licences of the linked libraries. Sourced by scripts/package.sh.

project_version() { sed -n 's/^project(dptrain VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt; }
# deb_version: "0.1.0-1~debian12", "0.1.0-1~ubuntu24.04": a later distribution's package is the newer one.
deb_version() { (. /etc/os-release && echo "$(project_version)-1~$ID$VERSION_ID"); }

maintainer() { echo "${DEBFULLNAME:-dptrain maintainers} <${DEBEMAIL:-$(git log -1 --format=%ae 2>/dev/null || echo root)}>"; }

# package_of FILE: the Debian package that a library found by name belongs to.
package_of() {
  local path
  path=$(find /usr/lib/"$(dpkg-architecture -qDEB_HOST_MULTIARCH)" -maxdepth 1 -name "$1" | LC_ALL=C sort | head -n 1)
  [ -n "$path" ] && dpkg-query --search "$(readlink -f "$path")" 2>/dev/null | head -n 1 | cut -d: -f1
}

# Libraries that dptrain opens when a command needs them, if they were installed when it was built.
opened_packages() {
  local file
  for file in libavformat.so libavcodec.so libavutil.so libswscale.so; do
    package_of "$file" || true
  done
}

write_control() {
  local opened
  opened=$(opened_packages | paste -sd , | sed 's/,/, /g')
  if [ "$cuda" = ON ]; then opened+="${opened:+, }cudnn9-cuda-13, libnccl2"; fi
  cat <<TEXT
Source: dptrain
Section: science
Priority: optional
Maintainer: $(maintainer)
Standards-Version: 4.6.2

Package: dptrain
Architecture: any
Depends: \${shlibs:Depends}
Recommends: \${shlibs:Recommends}
Suggests: \${shlibs:Suggests}, openmpi-bin | mpich, $opened, dataset-fashion-mnist
Description: trains neural networks from one YAML file
 dptrain trains neural networks on $([ "$cuda" = ON ] && echo "CPU cores or NVIDIA GPUs" || echo "CPU cores"), with the
 same numbers on any number of replicas: N replicas compute what one big batch
 computes, a resumed run continues bit for bit, and the checkpoint is a file
 that Keras opens. No Python is needed to train.
 .
 CUDA's driver, cuDNN, NCCL, MPI and FFmpeg are opened when a command
 needs them; without them dptrain trains on the CPU.
TEXT
}

write_changelog() {
  cat <<TEXT
dptrain ($(deb_version)) unstable; urgency=medium

  * Built from commit $(git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown).

 -- $(maintainer)  $(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')
TEXT
}

# compiled_in BUILD: the packages whose headers or archives the build has read, but for the C library's and the kernel's.
compiled_in() {
  { ninja -C "$1" -t deps 2>/dev/null | sed -n 's/^ *\(\/usr\/\(include\|lib\)\/.*\)/\1/p'
    grep -ohE '/usr/[^ :]*\.a\b' "$1/build.ninja"; } | xargs -r realpath --quiet | LC_ALL=C sort -u | xargs -r dpkg-query --search 2>/dev/null |
    sed 's/:.*//' | LC_ALL=C sort -u | grep -vE '^(libc6-dev|linux-libc-dev|libc-dev-bin|libgcc-[0-9]+-dev)$'
}

# copyright_of BUILD: dptrain's licence, and of everything compiled in its copyright file as the distribution has it.
copyright_of() {
  local package
  cat <<TEXT
dptrain is Copyright its contributors, and comes under the Apache License,
Version 2.0; on Debian systems its text is in
/usr/share/common-licenses/Apache-2.0.

Code of other projects is compiled in, from their headers and archives. What
follows are the copyright files of the packages that they come from, as the
distribution has them; libraries that are loaded have their own.
TEXT
  for package in $(compiled_in "$1"); do
    printf '\n\n======== %s ========\n\n' "$package"
    cat "/usr/share/doc/$package/copyright"
  done
  if [ "$cuda" = ON ]; then cuda_notice; fi
}

cuda_notice() {
  printf '\n\n======== NVIDIA CUDA runtime ========\n\n'
  cat "${nvcc%/bin/nvcc}"/EULA.txt 2>/dev/null || cat <<TEXT
The static CUDA runtime library (libcudart_static) is Copyright NVIDIA
Corporation and distributed under the End User License Agreement of the CUDA
Toolkit, which lists it among the files that may be distributed with an
application: https://docs.nvidia.com/cuda/eula/
TEXT
}
