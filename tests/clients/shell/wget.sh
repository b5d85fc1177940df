#!/bin/bash
# usage: wget.sh [WGET OPTION…]
. "${BASH_SOURCE[0]%/*}/checks.sh"
echo "version $(wget --version | sed -n '1s/GNU Wget \([^ ]*\).*/\1/p')"
ask() { wget -q -t 1 -T 20 -O - --header "Authorization: Bearer $API_TOKEN" "$@" || echo "wget's exit code is $?"; }
get() { ask "${options[@]}" "$api/whoami"; }
post() { ask "${options[@]}" --post-file=/dev/stdin "$api/digest"; }
events() { ask "${options[@]}" "$api/$1"; }
options=("$@")
checks
