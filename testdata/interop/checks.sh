# shellcheck shell=bash
# What the scripts of this folder share: they count, and print one line per check.

passed=0 failed=0 skipped=0
section=

ok() { passed=$((passed + 1)); echo "ok    $section: $1"; }
bad() { failed=$((failed + 1)); printf 'FAIL  %s: %s\n%s\n' "$section" "$1" "$2"; }
skip() { skipped=$((skipped + 1)); echo "skip  $section: $1"; }

# expect NAME REGEXP COMMAND...: what the command prints has to match.
expect() {
  local name=$1 want=$2 out
  shift 2
  out=$("$@" 2>&1)
  if [[ $out =~ $want ]]; then ok "$name"; else bad "$name" "got:  ${out:0:2000}
want: $want"; fi
}

# collect COMMAND...: runs a program that prints lines of its own that begin with
# ok, FAIL and skip.
collect() {
  local line rc=none
  while IFS= read -r line; do
    case $line in
      "ok    "*) ok "${line#ok    }" ;;
      "skip  "*) skip "${line#skip  }" ;;
      "FAIL  "*) bad "${line#FAIL  }" "" ;;
      exit\ *) rc=${line#exit } ;;
      ?*) echo "      $line" ;;
    esac
  done < <("$@"; printf "\nexit %d\n" $?)
  [[ $rc == 0 || $failed -gt 0 ]] || bad "the program" "exit code $rc"
}

have() { # PROGRAM: skips where it is missing
  command -v "$1" >/dev/null && return
  skip "no $1 on this machine"
  return 1
}
