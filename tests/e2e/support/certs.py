"""The tests' certificate authority and the origins' certificates, made with openssl."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Pair:
    cert: Path
    key: Path


def _openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)


class Pki:
    """`ca` is what the gateway is told to trust; `stranger` is another root that nobody trusts."""

    def __init__(self, directory: Path):
        self.dir = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._ca = self._root("test-ca")
        self._stranger = self._root("stranger-ca")
        self.ca_pem = self._ca.cert
        self.good = self.leaf("good", ["api.test", "other.test", "evil.test", "git.test"])

    def _root(self, name) -> Pair:
        pair = Pair(self.dir / f"{name}.pem", self.dir / f"{name}.key")
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-keyout", pair.key, "-out", pair.cert, "-days", "30", "-subj", f"/CN={name}",
                 "-addext", "basicConstraints=critical,CA:TRUE",
                 "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        return pair

    def leaf(self, name, dns_names, stranger=False, days=20, addresses=(), more=()) -> Pair:
        pair = Pair(self.dir / f"{name}.pem", self.dir / f"{name}.key")
        request = self.dir / f"{name}.csr"
        extensions = self.dir / f"{name}.ext"
        names = ",".join([*(f"DNS:{n}" for n in dns_names), *(f"IP:{a}" for a in addresses)])
        extensions.write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n"
                              "extendedKeyUsage=serverAuth\n" + "".join(f"{line}\n" for line in more))
        _openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                 "-keyout", pair.key, "-out", request, "-subj", f"/CN={dns_names[0]}")
        issuer = self._stranger if stranger else self._ca
        _openssl("x509", "-req", "-in", request, "-CA", issuer.cert, "-CAkey", issuer.key,
                 "-CAcreateserial", "-out", pair.cert, "-days", days, "-extfile", extensions)
        return pair
