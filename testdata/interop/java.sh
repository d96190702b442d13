# shellcheck shell=bash
# A client that protoc and grpc-java generate from the proto files.

section=java
if have mvn && have java; then
  if (cd "$here/java" && mvn -q -B compile -Dout="$built/java" -Dprotos="$root/pkg/inferencepb") >"$work/mvn.log" 2>&1; then
    run_java() { # Maven colors its end even with the option against it
      (cd "$here/java" && mvn -q -B exec:java -Dout="$built/java" -Dexec.args="$grpc" 2>&1) | sed 's/\x1b\[[0-9;]*m//g'
    }
    collect run_java
  elif grep -q 'COMPILATION ERROR' "$work/mvn.log"; then
    bad "compile" "$(cat "$work/mvn.log")"
  else
    skip "Maven could not get what it needs: $(grep -m1 ERROR "$work/mvn.log")"
  fi
fi
