# What every HTTP client does, given the functions get, post and events PATH.
api=https://api.test
digest=aca1cd027e979588d14b877b7b0cb8585ad9fec599eb45801992ee5382b3760f

checks() {
  local got body read name rest
  got=$(get 2>&1)
  if [[ $got == "you are $API_TOKEN"* ]]; then
    got=$(tail -n 1 <<<"$got")
    [[ $got == you* ]] && got=
    echo "get ok ${got:+HTTP/$got}"
  else
    echo "get" $got
  fi
  body=$(mktemp)
  for ((i = 0; i < 65536; i++)); do printf 0123456789abcdef; done >"$body"
  got=$(post <"$body" 2>&1)
  rm "$body"
  [[ $got == "$digest" ]] && echo 'post ok' || echo post $got
  events events 2>&1 | {
    read -r _ read name
    [[ $name == "$API_TOKEN" ]] || { echo "stream began with $read $name"; exit; }
    events "go-on/$read" >/dev/null
    rest=$(cat)
    [[ $rest == *'data: done'* ]] && echo 'stream ok' || echo stream $rest
  }
}
