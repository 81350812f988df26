#!/bin/sh
# Installs the library into a folder of its own, and builds and runs a stranger's program against it,
# once through find_package and once through pkg-config; and a stranger's test of a fixture.
# usage: check.sh BUILD_DIR SOURCE_DIR CXX
set -eu
build=$1
source=$2
cxx=$3
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

cmake --install "$build" --prefix "$place/prefix" --component Unspecified >"$place/install.log" ||
  { cat "$place/install.log"; exit 1; }

cmake -S "$source" -B "$place/consumer" -DCMAKE_PREFIX_PATH="$place/prefix" \
  -DCMAKE_CXX_COMPILER="$cxx" >"$place/configure.log" || { cat "$place/configure.log"; exit 1; }
cmake --build "$place/consumer" >"$place/build.log" || { cat "$place/build.log"; exit 1; }
"$place/consumer/with_find_package" "$place/store"
echo "find_package: ok"

"$place/prefix/bin/reenact" --store "$place/store" fixture add last --out "$place/echo.reenact" >/dev/null
"$place/consumer/replay_test" "$place/echo.reenact" "$place/consumer/with_find_package" "$place/store" >"$place/test.log" ||
  { cat "$place/test.log"; exit 1; }
echo "reenact::testing: ok"

PKG_CONFIG_PATH=$(dirname "$(find "$place/prefix" -name reenact.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # The flags are several words.
"$cxx" -std=c++17 "$source/main.cc" -o "$place/with_pkg_config" $(pkg-config --cflags --libs reenact)
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$place/with_pkg_config" "$place/store"
echo "pkg-config: ok"
