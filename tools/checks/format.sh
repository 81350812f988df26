#!/bin/sh
# Fails when a tracked C or C++ file is not formatted as .clang-format (version 14) says.
set -eu
cd "$(dirname "$0")/../.."
formatter=$(command -v clang-format-14 || command -v clang-format) || { echo "clang-format is missing"; exit 1; }
case $("$formatter" --version) in
  *"version 14."*) ;;
  *) echo "skipped: the format is that of clang-format 14, this is $("$formatter" --version)"; exit 77 ;;
esac
git ls-files '*.h' '*.hpp' '*.cc' '*.c' | xargs "$formatter" --dry-run -Werror
echo "format: ok"
