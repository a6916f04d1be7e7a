"""The codec's reader of s-expressions against the naive one, under atheris: the same requests, or a refusal by both.

`python -m tests.protocols.namechan.fuzz_sexp CORPUS -max_total_time=60 -dict=FILE`

The first byte selects the reader: of lines, of the hook, or of frames. `python -m tests.protocols.namechan.fuzz_sexp
--dictionary` prints the dictionary, `--seeds FOLDER` writes every spelling of some requests. It ends with 77 where the
two differ, as libFuzzer does.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tests.protocols.namechan.two_readers import CODEC, first_frame, naive_frame, read
from wireproof.fuzz.known_targets import dictionary
from wireproof.fuzz.state_paths import examples
from wireproof.protocols.namechan.profiles import FRAMES, HOOK
from wireproof.reference_server.namechan.oracle.reader import requests


def compare(data: bytes) -> None:
    """Compare both readers of an input. Raises `AssertionError`."""
    if not data:
        return
    which, text = data[0] % 3, data[1:]
    if which == 2:
        assert naive_frame(text) == first_frame(text), text
    else:
        assert requests(text, hook=which == 1) == read(text, hook=which == 1), text


def write_seeds(folder: Path) -> None:
    """Write one file for each spelling of each example, and for each frame."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, some in examples("namechan", "1+publish", "standard").items():
        for one in some:
            number = 2 if kind in FRAMES else int(kind in HOOK)
            for text in (CODEC.encode(one), *CODEC.spellings(one).values()):
                seed = bytes([number]) + text
                (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)


def main() -> None:
    """Run the target, or print what it starts with."""
    if sys.argv[1:] == ["--dictionary"]:
        print(dictionary("namechan"), end="")
    elif sys.argv[1:2] == ["--seeds"]:
        write_seeds(Path(sys.argv[2]))
    else:
        from wireproof.fuzz.targets.instrumented import fuzz, instrument_package

        instrument_package("wireproof.protocols.sexp", "wireproof.protocols.namechan")
        fuzz(compare, "-max_len=200")


if __name__ == "__main__":
    main()
