# What the tar is linked with, so that it runs on distributions older than the one it is built on. Sourced by scripts/package.sh;
# works on Debian 12, whose headers go with the sources below.
#
# Objects are compiled as for the .deb. They are linked with the C library of Ubuntu 18.04 (glibc 2.27), whose versions of functions
# every later glibc has; the few functions that are younger are in scripts/package/glibc_since_2.28.c. Highway, fmt and spdlog, which
# Debian has as shared libraries, become archives; libstdc++ is linked anew from Debian's objects (libstdc++-12-pic). oneDNN, protobuf
# and what else comes along as Debian has it keeps its code; relabel_glibc.c has it ask for the functions' old versions. What the
# files ask of glibc in the end is held against the C library of Ubuntu 18.04, function by function (unmet_by_old_glibc).

old_glibc=2.27   # the sysroot's
# URL and SHA-256 of what is fetched.
portable_parts="
http://archive.ubuntu.com/ubuntu/pool/main/g/glibc/libc6_2.27-3ubuntu1.6_amd64.deb 5b813d4512491cd8fb30b2eb9192349ee75ffe3c9f21ae136cc7b2429f70c3b2
http://archive.ubuntu.com/ubuntu/pool/main/g/glibc/libc6-dev_2.27-3ubuntu1.6_amd64.deb 96ae7d2cf38f0547ca3cccb3344c8802fdf5bcd71c4b6d9aed09558ac8cc87db
http://archive.ubuntu.com/ubuntu/pool/main/g/gcc-8/libgcc1_8.4.0-1ubuntu1~18.04_amd64.deb 116dadf4ceaba7150eb46a6598dd3defa62b1b2a6578fb494f4c932878634994
http://archive.ubuntu.com/ubuntu/pool/main/g/gcc-8/libgomp1_8.4.0-1ubuntu1~18.04_amd64.deb 2fb511a931d0510d22313fad065c951e04431d75d4e6160e1d80d29e88748c8a
http://deb.debian.org/debian/pool/main/f/fmtlib/fmtlib_9.1.0+ds1.orig.tar.gz 84ce1c2d0be3a9863935137969dcec6970125caac032f82474640bfc81463583
http://deb.debian.org/debian/pool/main/s/spdlog/spdlog_1.10.0+ds.orig.tar.xz 620ca6842b5c21014470bd42eb4716024674214fb973b5ffa3aaea33310ad327
http://deb.debian.org/debian/pool/main/h/highway/highway_1.0.3.orig.tar.gz 566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e"

# fetch_parts FOLDER: downloads what is not there, checks all, unpacks it into FOLDER/sysroot and FOLDER/sources.
fetch_parts() {
  local url sum file
  mkdir -p "$1/sysroot" "$1/sources" "$1/lib"
  while read -r url sum; do
    [ -n "$url" ] || continue
    file=$1/$(basename "$url")
    [ -e "$file" ] || curl --fail --silent --show-error --retry 2 --output "$file" "$url" || fail "cannot fetch $url"
    echo "$sum  $file" | sha256sum --check --quiet || fail "$file is not what it was; delete it, or look why"
    case $file in
      *.deb) dpkg-deb --extract "$file" "$1/sysroot" ;;
      *) tar -C "$1/sources" -xf "$file" ;;
    esac
  done <<<"$portable_parts"
}

# _archive NAME FLAGS... -- SOURCES...: lib/libNAME.a in the current folder.
_archive() {
  local name=$1 flags=() source objects=()
  shift
  while [ "$1" != -- ]; do flags+=("$1"); shift; done
  shift
  for source in "$@"; do
    g++ -O2 -fPIC "${flags[@]}" -c "$source" -o "lib/$name-$(basename "$source").o"
    objects+=("lib/$name-$(basename "$source").o")
  done
  rm -f "lib/lib$name.a"
  ar rcD "lib/lib$name.a" "${objects[@]}"
}

# build_parts FOLDER: its lib/ becomes the folder of libraries to link with.
build_parts() (
  local shim=$PWD/scripts/package/glibc_since_2.28.c relabel=$PWD/scripts/package/relabel_glibc.c gcc source sysroot
  gcc=$(dirname "$(g++ -print-libgcc-file-name)")
  [ -e "$gcc/libstdc++_pic.a" ] || fail "libstdc++_pic.a is missing (apt-get install libstdc++-12-pic)"
  cd "$1"
  sysroot=$PWD/sysroot
  gcc -O2 -fPIC -Wall -Wextra -c "$shim" -o glibc.o
  gcc -O2 -Wall -Wextra "$relabel" -o relabel_glibc
  source=sources/fmtlib-9.1.0+ds1
  _archive fmt -I$source/include -- $source/src/format.cc $source/src/os.cc
  source=sources/spdlog-1.10.0
  _archive spdlog -DSPDLOG_COMPILED_LIB -DSPDLOG_FMT_EXTERNAL -I$source/include -- \
    $source/src/{spdlog,stdout_sinks,color_sinks,file_sinks,async,cfg}.cpp
  source=sources/highway-1.0.3
  _archive hwy -I$source -- $source/hwy/{aligned_allocator,per_target,print,targets}.cc
  ar p "$gcc/libstdc++.a" compatibility.o >compatibility.o   # which libstdc++_pic.a lacks
  # shellcheck disable=SC2046
  g++ $(old_glibc_flags .) -shared -nostdlib -o lib/libstdc++.so.6 "$sysroot/usr/lib/x86_64-linux-gnu/crti.o" "$gcc/crtbeginS.o" \
    -Wl,--whole-archive "$gcc/libstdc++_pic.a" -Wl,--no-whole-archive compatibility.o \
    -Wl,-soname,libstdc++.so.6,-z,relro,-z,defs,--gc-sections,--version-script="$gcc/libstdc++_pic.map" \
    -lm -lc "$sysroot/lib/x86_64-linux-gnu/libgcc_s.so.1" -lpthread -l:libdl.so.2 "$gcc/libgcc.a" \
    "$gcc/crtendS.o" "$sysroot/usr/lib/x86_64-linux-gnu/crtn.o"
  cp -L "$sysroot/usr/lib/x86_64-linux-gnu/libgomp.so.1" lib/
  ln -sf "$sysroot/lib/x86_64-linux-gnu/libgcc_s.so.1" lib/libgcc_s.so
  ln -sf libstdc++.so.6 lib/libstdc++.so   # last: package.sh takes it for the sign that all is there
)

# old_glibc_flags FOLDER: for the compiler as a linker. The executable exports what relabelled libraries
# look for there.
old_glibc_flags() {
  local parts sysroot
  parts=$(realpath "$1")
  sysroot=$parts/sysroot
  echo "--sysroot=$sysroot -B$sysroot/usr/lib/x86_64-linux-gnu -L$parts/lib -L$sysroot/usr/lib/x86_64-linux-gnu" \
    "-L$sysroot/lib/x86_64-linux-gnu -Wl,--allow-shlib-undefined $parts/glibc.o" \
    "-Wl,--export-dynamic-symbol=stat,--export-dynamic-symbol=__libc_single_threaded" \
    "-Wl,--no-as-needed,-lpthread,-l:libdl.so.2,-l:librt.so.1,-lm,--as-needed"
}

is_glibc() { [[ $1 =~ ^(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec))\.so ]]; }
needed() { readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

# copy_libraries FOLDER PARTS: what the files in FOLDER and bin/ want beside the host's C library and libgcc_s, MPI, comes there too,
# from PARTS before the distribution.
copy_libraries() {
  local again=yes name from
  while [ $again = yes ]; do
    again=no
    while read -r name; do
      if is_glibc "$name" || [[ $name =~ ^lib(gcc_s|mpi|mpich)\.so ]] || [ -e "$1/$name" ]; then continue; fi
      from=$2/lib/$name
      [ -e "$from" ] || from=/usr/lib/x86_64-linux-gnu/$name
      [ -e "$from" ] || fail "$name is not on this machine"
      strip --strip-unneeded -o "$1/$name" "$(readlink -f "$from")"
      "$2/relabel_glibc" $old_glibc "$1/$name"
      again=yes
    done < <(for file in "$1"/*.so* "$1"/../../bin/dptrain; do needed "$file"; done | sort -u)
  done
}
# newest_glibc FILE...: "2.34", the newest version of a function that they want.
newest_glibc() { objdump -T "$@" 2>/dev/null | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1; }
# glibc_functions defined|wanted FILE...: "NAME VERSION" of the glibc functions that they have, or that they want of others.
glibc_functions() {
  local which=$1
  shift
  objdump -T "$@" | tr -d '()' | awk -v which="$which" \
    'NF > 2 && $(NF - 1) ~ /^GLIBC_/ && (/\*UND\*/ ? "wanted" : "defined") == which { print $NF, $(NF - 1) }' | LC_ALL=C sort -u
}
# unmet_by_old_glibc PARTS EXECUTABLE FILE...: what they want that neither the sysroot's C library has nor the executable, which
# is looked in first and without a version (glibc_since_2.28.c).
unmet_by_old_glibc() {
  local sysroot=$1/sysroot/lib/x86_64-linux-gnu ours wanted there
  shift
  ours=$(nm --dynamic --defined-only "$1" | awk '{ print $3, "GLIBC_2.2.5" }') || return
  wanted=$(glibc_functions wanted "$@") || return
  there=$(glibc_functions defined "$sysroot"/{ld-linux-x86-64.so.2,lib{c,m,mvec,dl,pthread,rt,resolv,util}.so.*}) || return
  LC_ALL=C comm -23 <(echo "$wanted") <(printf '%s\n' "$there" "$ours" | LC_ALL=C sort -u)
}
