"""Secrets that lie in a working tree: empty inside, whatever the sandbox tries."""

import json
import os

from support.marks import both_users
from support.trees import host_git, repository

KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END PRIVATE KEY-----\n"
SECRETS = {".env": "TOKEN=hidden-value\n", "app/.env.local": "TOKEN=hidden-value\n", "certs/server.key": KEY,
           "id_ed25519": KEY, ".netrc": "machine h password hidden-value\n",
           ".npmrc": "//registry.npmjs.org/:_authToken=hidden-value\n",
           "sa.json": json.dumps({"private_key": KEY, "note": "hidden-value"}),
           "terraform.tfstate": '{"x": "hidden-value"}', "store.p12": "hidden-value"}
HARMLESS = {".env.example": "TOKEN=\n", "app/package.json": "{}\n", "cert.pem": "-----BEGIN CERTIFICATE-----\n"}


def plant(bench):
    for name, text in {**SECRETS, **HARMLESS}.items():
        bench.write(name, text)


@both_users
def test_secrets_are_empty_and_everything_else_is_there(bench, echo):
    plant(bench)
    done = bench.run("wc -c < /dev/null; cat " + " ".join(SECRETS) + "; echo ---; cat " + " ".join(HARMLESS) +
                     "; grep -rl hidden-value . ; grep -rl 'PRIVATE KEY' .; true")
    first, rest = done.text.split("---", 1)
    assert done.code == 0 and first.strip() == "0", done
    assert rest.lstrip() == "".join(HARMLESS.values()), done
    line, = (each for each in done.error.splitlines() if "look like secrets" in each)
    assert f"and {len(SECRETS) - 3} more" in line and "--show PATH" in line, line


@both_users
def test_attack_a_hidden_file_cannot_be_written_moved_or_reached(bench, echo):
    plant(bench)
    os.link(bench.ws / ".env", bench.ws / "README")
    (bench.ws / "by-link").symlink_to("certs/server.key")
    done = bench.run("""
cat README by-link; for f in .env certs/server.key; do (echo x >> $f) 2>/dev/null && echo wrote $f
rm -f $f 2>/dev/null && echo removed $f; mv $f away 2>/dev/null && echo moved $f
ln $f linked 2>/dev/null && cat linked; chmod 777 $f 2>/dev/null && echo opened; done
mv certs elsewhere; cat elsewhere/server.key; mv app a; cat a/.env.local; mkdir certs; cat certs/server.key 2>/dev/null
cat /proc/self/root$PWD/.env; echo ran""", creates=["elsewhere", "a", "certs"])
    assert done.text == "ran\n", done
    assert (bench.ws / ".env").read_text() == SECRETS[".env"] == (bench.ws / "README").read_text()
    assert (bench.ws / "elsewhere/server.key").read_text() == KEY


@both_users
def test_show_leaves_one_visible(bench, echo):
    plant(bench)
    (bench.ws / "link").symlink_to(".env")
    done = bench.run("cat .env; cat certs/server.key; cat id_ed25519", args=["--show", "link", "--show", "certs"])
    assert done.text == SECRETS[".env"] + KEY, done


@both_users
def test_secrets_in_a_tree_that_is_only_read(bench, echo):
    other = bench.directory / "other"
    other.mkdir()
    (other / ".env").write_text("hidden-value\n")
    (other / "file").write_text("seen\n")
    bench.own()
    done = bench.run(f"cat {other}/.env {other}/file", args=["--ro", other])
    assert done.text == "seen\n", done
    done = bench.run(f"cat {other}/.env", args=["--ro", other / ".env"])
    assert done.text == "hidden-value\n", done


@both_users
def test_credentials_in_the_repositorys_configuration(bench, echo):
    repository(bench)
    host_git(bench, "remote", "add", "origin", "https://me:hunter2hunter2@git.test/x.git")
    host_git(bench, "config", "http.https://git.test/.extraheader", "AUTHORIZATION: basic aHVudGVyMg==")
    before = (bench.ws / ".git/config").read_bytes()
    done = bench.run("git remote -v; git config --list; cat .git/config; git status --porcelain; chmod 666 .git/config; (echo x >> .git/config)")
    assert "hunter2" not in done.text and "aHVudGVyMg" not in done.text, done
    assert "https://me:hidden-by-warder@git.test/x.git" in done.text and "cannot create .git/config" in done.error, done
    assert (bench.ws / ".git/config").read_bytes() == before
    assert bench.run("git remote get-url origin", args=["--show", ".git/config"]).text.startswith(
        "https://me:hunter2hunter2@")


def test_attack_a_secret_that_is_swapped_while_the_sandbox_runs(bench, echo):
    """Links that lead to a hidden file, made inside: each leads to what is seen there."""
    plant(bench)
    done = bench.run("ln -s .env one; ln -s $PWD/certs two; cat one two/server.key; "
                     "ln -s /proc/1/root$PWD/.env three; cat three 2>/dev/null; rm three; echo ran",
                     creates=["one", "two"])
    assert done.text == "ran\n", done
