"""AES-GCM of encrypted datagrams: 12-byte nonce, 16-byte tag after the ciphertext, nothing else authenticated (P22).

A login's key has 32 bytes; AES-128 takes the first 16 of them. The cipher is `cryptography`'s, imported when used.
"""

from __future__ import annotations

from wireproof.protocols.errors import ErrorCode, LocalProtocolError
from wireproof.protocols.psrt.enums import NONCE_SIZE, TAG_SIZE, Encryption

__all__ = ["OpeningError", "open_sealed", "seal"]

_KEY_SIZES = {Encryption.AES_128_GCM: 16, Encryption.AES_256_GCM: 32}


class OpeningError(Exception):
    """Raised when what is sealed was not sealed with this key and nonce, or was changed since."""


def seal(*, key: bytes, nonce: bytes, encryption: int, of: bytes) -> bytes:
    """Return the ciphertext of `of` with its tag after it; `LocalProtocolError` for a key or nonce of another size.

    `key` is the login's (16 bytes are enough for AES-128).
    """
    size = _KEY_SIZES.get(Encryption(encryption)) if encryption in list(Encryption) else None
    if size is None or len(key) < size or len(nonce) == 0:
        got = f"{encryption}, {len(key)} and {len(nonce)} bytes"
        detail = f"seal: expected encryption 02 or 03, a key of 32 bytes and a nonce; got {got}"
        raise LocalProtocolError(ErrorCode.BAD_VALUE, detail)
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return bytes(AESGCM(key[:size]).encrypt(nonce, of, None))


def open_sealed(*, key: bytes, nonce: bytes, encryption: int, sealed: bytes) -> bytes:
    """Return what was sealed; `OpeningError` when the tag does not fit or the sizes are not those of the protocol."""
    size = _KEY_SIZES.get(Encryption(encryption)) if encryption in list(Encryption) else None
    if size is None or len(key) < size or len(nonce) != NONCE_SIZE or len(sealed) < TAG_SIZE:
        raise OpeningError("not the sizes of AES-GCM")
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return bytes(AESGCM(key[:size]).decrypt(nonce, sealed, None))
    except InvalidTag:
        raise OpeningError("the tag does not fit") from None
