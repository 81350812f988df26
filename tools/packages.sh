# The Debian packages that Reenact is built and checked with (12 "bookworm" and 13 "trixie").
# Sourced by tools/quickstart and tools/check; installs only what is missing.

BUILD_PACKAGES="g++ cmake ninja-build mold ccache pkg-config libabsl-dev nlohmann-json3-dev
  libcurl4-openssl-dev libzstd-dev zlib1g-dev libsqlite3-dev libcli11-dev libseccomp-dev
  libssl-dev libcpp-httplib-dev libboost-dev libbrotli-dev libgtest-dev libgmock-dev libpcre2-dev libutf8proc-dev libyaml-dev python3"
DEMO_PACKAGES="curl ca-certificates"
CHECK_PACKAGES="git sqlite3 python3-jinja2 python3-requests busybox-static"
# A Node and npm from elsewhere are as good, and cannot live beside Debian's.
command -v npm >/dev/null || CHECK_PACKAGES="$CHECK_PACKAGES npm nodejs"

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 2; }

# one_at_a_time FILE: waits until no other script that holds FILE is at work in this checkout: two of them would
# build and install over each other. Held until this script ends, whatever ends it.
one_at_a_time() {
  exec 9>>"$1"
  if ! flock -n 9; then
    say "$(cat "$1") is at work in this checkout; waiting for it to end."
    flock 9
  fi
  printf '%s (process %s)\n' "${0##*/}" "$$" >"$1"
}

missing_packages() {
  for package in "$@"; do
    case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) in
      "install ok installed") ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

# install_packages PACKAGE...: says what is missing, then installs it.
install_packages() {
  command -v apt-get >/dev/null || fail "this script needs Debian's apt-get; the packages that it wants are named in tools/packages.sh"
  missing=$(missing_packages "$@")
  if [ -z "$missing" ]; then
    say "All packages are here."
    return 0
  fi
  say "These Debian packages will be installed: $missing"
  as_root=""
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "installing packages needs root: run as root, or install sudo"
    as_root=sudo
  fi
  # shellcheck disable=SC2086 -- a list of words
  if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >"$LOG" 2>&1; then
    $as_root apt-get update -q >>"$LOG" 2>&1 || fail "apt-get update failed; the log is $LOG"
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >>"$LOG" 2>&1 ||
      fail "apt-get install failed; the log is $LOG"
  fi
  say "Installed."
}

# build PRESET [TARGET...]: configures and builds, with ninja's own progress line.
build() {
  preset=$1
  shift
  cmake --preset "$preset" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >"$LOG" 2>&1 ||
    { tail -n 30 "$LOG"; fail "cmake --preset $preset failed; the log is $LOG"; }
  # Without the sloppiness ccache compiles anew whatever uses a precompiled header; without "depend" it reads every
  # source twice when it has none.
  CCACHE_DEPEND=1 CCACHE_SLOPPINESS=pch_defines,time_macros NINJA_STATUS='[%f/%t %es] ' cmake --build "build/$preset" -j "$(nproc)" ${1:+--target "$@"} ||
    fail "the build of preset $preset failed"
}
