#!/bin/bash -eu
# .clusterfuzzlite/build.sh: one fuzzer for each target and protocol, with its seeds and its dictionary.
# Set by the image: OUT, and compile_python_fuzzer in the path. PROTOCOLS and TARGETS may be set.
python3 -m pip install '.[fuzz]'
fuzzers=$(mktemp -d)
python3 -m wireproof.fuzz.targets.packaged "$fuzzers" ${PROTOCOLS:-} ${TARGETS:+--targets "$TARGETS"}
for fuzzer in "$fuzzers"/*.py; do
  compile_python_fuzzer "$fuzzer" --collect-all wireproof
  name=$(basename "$fuzzer" .py)
  (cd "$fuzzers/$name" && zip -q -r "$OUT/${name}_seed_corpus.zip" .)
  cp "$fuzzers/$name.dict" "$OUT/"
done
