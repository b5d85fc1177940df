#!/usr/bin/env bash
# git's own HTTP tests from Debian's source package, against the git that is installed:
#   git_http_tests.sh build DIR           fetches the source of that version and builds its test helper
#   git_http_tests.sh run DIR OUT [NAME…] runs them and writes OUT, a line for each case that fails
# `run` takes http_proxy from its environment, and must be an ordinary user: git skips them for root.
set -euo pipefail

tests=(t5540 t5541 t5542 t5550 t5551 t5581)

build() {
  local version
  mkdir -p "$1"
  cd "$1"
  version=$(dpkg-query -W -f '${source:Version}' git)
  [[ ! -f built || $(<built) != "$version" ]] || return 0
  rm -rf src lists parts ./*.dsc ./*.tar.*
  mkdir -p lists parts
  # The machine's own list of sources stays as it is: deb-src lines for this command alone.
  if [[ -f /etc/apt/sources.list.d/debian.sources ]]; then
    sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >parts/source.sources
  else
    sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >parts/source.list
  fi
  local apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$PWD/parts"
    -o "Dir::State::lists=$PWD/lists" -o APT::Sandbox::User=root)
  "${apt[@]}" update
  "${apt[@]}" source --download-only "git=$version"
  local dsc=(./*.dsc)
  dpkg-source --no-check -x "${dsc[0]}" src
  make -s -C src -j2 NO_GETTEXT=1 NO_TCLTK=1 NO_CURL=1 NO_PYTHON=1 CFLAGS=-O0 \
    t/helper/test-tool GIT-BUILD-OPTIONS
  make -s -C src/templates NO_GETTEXT=1
  # What the tests are told about the git that they run: Debian's has curl and expat.
  sed -i "s/^NO_CURL=.*/NO_CURL=''/; s/^NO_EXPAT=.*/NO_EXPAT=''/" src/GIT-BUILD-OPTIONS
  echo "$version" >built
}

run() {
  local source=$1/src out=$2 name file
  shift 2
  [[ $# -eq 0 ]] || tests=("$@")
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  : >"$out"
  export GIT_TEST_INSTALLED=/usr/bin GIT_TEST_HTTPD=yes HOME=$work
  export LIB_HTTPD_PATH=/usr/sbin/apache2 LIB_HTTPD_MODULE_PATH=/usr/lib/apache2/modules
  for name in "${tests[@]}"; do
    file=$(cd "$source/t" && echo "$name"-*.sh)
    (cd "$source/t" && TEST_OUTPUT_DIRECTORY=$work ./"$file" --root="$work") >"$work/$name.tap" 2>&1 || true
    sed -nE "s/^not ok [0-9]+ - (.*[^ ]) *(# TODO.*)?\$/$name: \1/p" "$work/$name.tap" | sed '/# TODO/d' >>"$out"
    echo "$name: $(grep -c '^ok ' "$work/$name.tap") ok, $(grep -c '^not ok ' "$work/$name.tap") not ok," \
      "$(grep -cE '^ok .*# skip' "$work/$name.tap") of the ok skipped; $(tail -n 1 "$work/$name.tap")"
  done
}

mode=$1
shift
case $mode in
  build | run) "$mode" "$@" ;;
  *) sed -n '2,5p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
