"""Makes self-signed certificates for servers that speak TLS on loopback only (package `cryptography`)."""

from __future__ import annotations

import datetime
from ipaddress import ip_address
from pathlib import Path

__all__ = ["self_signed"]

LIFE = datetime.timedelta(days=1)


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for localhost and 127.0.0.1 with its key into `folder`; return both paths (PEM).

    It is its own certificate authority, so clients can trust it by its file. It is valid for a day.
    Raises ImportError if the package cryptography is not installed, and OSError if a file cannot be written.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFE)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(pem))
    paths[1].touch(mode=0o600)
    paths[1].write_bytes(secret)
    return paths
