# Roots of Debian 12 and Ubuntu 24.04 to build packages in and to try them in, and of Ubuntu 18.04 to try the tar in. Sourced by
# scripts/package.sh, scripts/package/try_deb.sh and scripts/package/try_tar.sh, which need root's rights, mmdebstrap and a network, or a folder of roots made before:
#
#   $DPTRAIN_ROOTS (build/roots)   <suite>.tar: the bare root of a suite, made once; delete it to make it again
#
# Mounts are in a separate namespace: they always end with the command, so a root can be deleted safely.

roots=${DPTRAIN_ROOTS:-$PWD/build/roots}
ubuntu_keyring=http://archive.ubuntu.com/ubuntu/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb
ubuntu_keyring_sha256=36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8

# fail MESSAGE..., skip MESSAGE...: end the script with a line that begins with its name; 77 is what tests take for skipped.
fail() { echo "$(basename "$0" .sh): $*" >&2; exit 1; }
skip() { echo "$(basename "$0" .sh): SKIPPED, nothing was tried: $*" >&2; exit 77; }

# running_suite: "bookworm" or "noble", as /etc/os-release names this machine's.
running_suite() { (. /etc/os-release && echo "${VERSION_CODENAME:-unknown}"); }

# why_no_roots: says what is missing for roots, or nothing.
why_no_roots() {
  if [ "$(id -u)" -ne 0 ]; then echo "needs root's rights"; return; fi
  command -v mmdebstrap >/dev/null || { echo "mmdebstrap is missing (apt-get install mmdebstrap)"; return; }
  unshare --mount true 2>/dev/null || echo "this machine forbids mounts (unshare --mount)"
}

# _keyring_of_ubuntu FOLDER: the file with Ubuntu's keys; Debian 12 has no package of them.
_keyring_of_ubuntu() {
  local here=/usr/share/keyrings/ubuntu-archive-keyring.gpg
  if [ ! -e $here ]; then
    curl --fail --silent --show-error --output "$1/keyring.deb" "$ubuntu_keyring" || return 1
    echo "$ubuntu_keyring_sha256  $1/keyring.deb" | sha256sum --check --quiet || return 1
    dpkg-deb --extract "$1/keyring.deb" "$1"
    here=$1$here
  fi
  echo "$here"
}

# bare_root SUITE: makes $roots/SUITE.tar where it is not there: apt and what every installation has, nothing else.
bare_root() {
  local suite=$1 result=0 scratch keyring
  [ ! -e "$roots/$suite.tar" ] || return 0
  mkdir -p "$roots"
  scratch=$(mktemp -d)
  local made=$roots/.$suite.$$.tar
  case $suite in
    noble | bionic)
      keyring=$(_keyring_of_ubuntu "$scratch") &&
        mmdebstrap --quiet --variant=minbase --include=apt,ubuntu-keyring --keyring="$keyring" "$suite" "$made" \
          "deb http://archive.ubuntu.com/ubuntu $suite main universe" \
          "deb http://archive.ubuntu.com/ubuntu $suite-updates main universe" || result=1 ;;
    *) mmdebstrap --quiet --variant=minbase --include=apt "$suite" "$made" http://deb.debian.org/debian || result=1 ;;
  esac
  rm -rf "$scratch"
  if [ $result = 0 ]; then mv "$made" "$roots/$suite.tar"; else rm -f "$made"; fi
  return $result
}

# unpack_root SUITE FOLDER: a fresh copy of it.
unpack_root() {
  mkdir -p "$2" && tar -C "$2" -xf "$roots/$1.tar" &&
    { [ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$2/etc/resolv.conf"; }
}

# in_root FOLDER [--bind FROM TO]... COMMAND...: runs it there as root, with /proc and /dev, in an almost empty environment:
# paths, and what names a proxy. FROM is this machine's, TO the root's.
in_root() {
  local root=$1 binds=() proxies=() name
  shift
  for name in http_proxy https_proxy no_proxy; do
    if [ -n "${!name:-}" ]; then proxies+=("$name=${!name}"); fi
  done
  while [ "$1" = --bind ]; do binds+=("$2" "$3"); shift 3; done
  mkdir -p "$root/proc" "$root/dev"
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --propagation private bash -c '
    root=$1 count=$2 proxies=$3
    shift 3
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" || exit 1
    while [ "$count" -gt 0 ]; do
      mkdir -p "$root$2" && mount --rbind "$1" "$root$2" || exit 1
      shift 2
      count=$((count - 2))
    done
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive $proxies "$@"
  ' bash "$root" ${#binds[@]} "${proxies[*]}" "${binds[@]}" "$@"
}
