#!/bin/sh
# Fails when a tracked C or C++ file is not formatted as .clang-format (version 14) says; skipped
# where there is no clang-format 14.
set -eu
cd "$(dirname "$0")/../.."
formatter=$(command -v clang-format-14 || command -v clang-format) || { echo "skipped: clang-format is missing"; exit 77; }
case $("$formatter" --version) in
  *"version 14."*) ;;
  *) echo "skipped: the format is that of clang-format 14, this is $("$formatter" --version)"; exit 77 ;;
esac
git ls-files '*.h' '*.hpp' '*.cc' '*.c' | xargs "$formatter" --dry-run -Werror
echo "format: ok"
