# shellcheck shell=bash
# NVIDIA's Python client, in the releases that testdata/python pins, each in a virtual
# environment of its own.

for requirements in "$root"/testdata/python/requirements*.txt; do
  release=$(sed -n 's/^tritonclient.*==//p' "$requirements")
  section="python $release"
  venv=$built/python-$release
  if ! cmp -s "$requirements" "$venv/.stamp"; then
    "$PYTHON" -m venv "$venv" >"$work/pip.log" 2>&1 &&
      "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" >>"$work/pip.log" 2>&1 ||
      { skip "pip could not install it: $(tail -1 "$work/pip.log")"; continue; }
    cp "$requirements" "$venv/.stamp"
  fi
  # Old releases complain on stderr about clients that Python frees at its end.
  collect "$venv/bin/python" "$root/testdata/python/interop.py" "$http" "$grpc" "$models" 2>"$work/stderr"
done
