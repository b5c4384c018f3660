"""A certificate for one test: an authority of its own, and what it signed for localhost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificate:
    """Files in PEM form: `authority` is what a client trusts, `chain` and `key` are the server's."""

    authority: Path
    chain: Path
    key: Path


def make(folder: Path) -> Certificate:
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _signed("an authority for one test", authority_key, authority_key, None)
    server = _signed("localhost", server_key, authority_key, authority, names)
    made = Certificate(folder / "authority.pem", folder / "chain.pem", folder / "key.pem")
    made.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.chain.write_bytes(server.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        server_key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return made


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    by: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    names: x509.SubjectAlternativeName | None = None,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
    )
    if issuer is None:
        builder = builder.add_extension(x509.KeyUsage(False, False, False, False, False, True, True, False, False), critical=True)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return builder.sign(by, hashes.SHA256())
