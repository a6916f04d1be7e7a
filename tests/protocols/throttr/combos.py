"""The eight combinations of profile and width, as parameters of a test."""

from __future__ import annotations

import pytest

from wireproof.protocols.throttr import PROFILES, Codec

CODECS = {
    f"{name}-{variant}": Codec.of(profile, variant)
    for name, profile in PROFILES.items()
    for variant in profile.variants
}
every_codec = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS.keys())
every_request = pytest.mark.parametrize(
    ("codec", "request_type"),
    [
        pytest.param(codec, request, id=f"{name}-{request.NAME}")
        for name, codec in CODECS.items()
        for request in codec.profile.replies
    ],
)
