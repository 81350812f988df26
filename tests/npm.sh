# npm for the tests that compare with other implementations. Sourced by their install scripts.

# npm_install LOG PACKAGE...: exact versions into the folder one is in. Where that fails: the cause as npm names it,
# and where the rest is.
npm_install() {
  npm_log=$1
  shift
  [ -f package.json ] || echo '{"private": true}' >package.json
  npm install --no-package-lock --no-audit --no-fund --loglevel=error "$@" >>"$npm_log" 2>&1 || npm_failed "$npm_log"
}

npm_failed() {
  echo "npm could not install the packages:" >&2
  grep -E '^npm (error|ERR!)' "$1" | head -n 12 >&2 || tail -n 12 "$1" >&2
  echo "The whole log is $PWD/$1" >&2
  exit 2
}
