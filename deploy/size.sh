#!/bin/sh
# size.sh BINARY fails if a program is larger than 40 MB. The usual cause of a jump is a package
# that calls methods by name (text/template, html/template, reflect.Value.MethodByName): then the
# linker keeps every exported method. `go build -ldflags=-dumpdep` marks it with <ReflectMethod>.
set -eu
most=40000000
bytes=$(wc -c <"$1")
if [ "$bytes" -gt "$most" ]; then
	echo "$1 has $bytes bytes, more than $most: see the head of $0" >&2
	exit 1
fi
