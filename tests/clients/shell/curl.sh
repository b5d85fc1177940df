#!/bin/bash
# usage: curl.sh [CURL OPTION…]    curl's own verdict on the protocol goes behind "ok".
. "${BASH_SOURCE[0]%/*}/checks.sh"
echo "version $(curl --version | sed -n '1s/curl \([^ ]*\).*/\1/p')"
ask() { curl -sS --fail-with-body --max-time 20 -N -H "Authorization: Bearer $API_TOKEN" "$@"; }
get() { ask "${options[@]}" -w '%{http_version}' "$api/whoami"; }
post() { ask "${options[@]}" --data-binary @- "$api/digest"; }
events() { ask "${options[@]}" "$api/$1"; }
options=("$@")
checks
