"""`warder secret`: the encrypted store. Its files are attacked, its writers killed, its values looked for everywhere."""

import json
import os
import subprocess
import threading
import time

import pytest

from support.bench import BEARER, SECRET
from support.marks import both_users
from support.terminal import Terminal

NEXT = "sk-live-Rotated-value-9876543210"
FROM_STORE = {"tok": {"source": {"store": "tok"}, "placeholder": {"env": "API_TOKEN"}}}


def secret(bench, *args, value=None, env=None):
    return bench.warder_command("secret", *args, stdin=(value or "").encode(), env=env)


def store_file(bench):
    return bench.state / "warder" / "secrets"


def set_one(bench, name="tok", value=SECRET, **more):
    done = secret(bench, "set", name, value=value + "\n", **more)
    assert done.code == 0, done
    return done


@both_users
def test_a_secret_is_set_listed_rotated_and_removed(bench, echo):
    assert set_one(bench).text == "tok: set, version 1\n"
    bench.config(secrets=FROM_STORE, name="s.yaml")
    done = bench.run(f"curl -sS https://api.test/headers {BEARER}", env={"REAL_TOKEN": None},
                     config="s.yaml")
    assert done.code == 0 and echo.requests[-1].get("authorization") == f"Bearer {SECRET}", done
    assert [r["uses"][0]["version"] for r in done.records if r["type"] == "intent"] == [1]

    assert secret(bench, "rotate", "tok", value=NEXT).text == "tok: rotated, version 2\n"
    listed = json.loads(secret(bench, "list", "--json").text)
    assert [(s["name"], s["version"]) for s in listed["secrets"]] == [("tok", 2)]
    assert "tok  version 2  made 20" in secret(bench, "list").text
    bench.real = NEXT
    done = bench.run(f"curl -sS https://api.test/headers {BEARER}", env={"REAL_TOKEN": None},
                     config="s.yaml")
    assert echo.requests[-1].get("authorization") == f"Bearer {NEXT}", done
    assert [r["uses"][0]["version"] for r in done.records if r["type"] == "intent"][-1] == 2

    assert secret(bench, "rm", "tok").code == 0
    assert secret(bench, "list").text == "no secrets\n"
    done = bench.run("true", config="s.yaml")
    assert done.code == 2 and "has no entry tok: warder secret set tok" in done.error, done


def test_the_files_are_private_and_hold_no_value_in_the_clear(bench):
    set_one(bench)
    state = bench.state / "warder"
    for name in ("secrets", "secrets.key", "secrets.lock"):
        assert (state / name).stat().st_mode & 0o777 == 0o600, name
    assert sorted(p.name for p in state.iterdir()) == ["secrets", "secrets.key", "secrets.lock"]
    data = store_file(bench).read_bytes()
    assert SECRET.encode() not in data and b"tok" not in data


def test_a_value_on_the_command_line_is_refused_and_never_repeated(bench):
    for args in (("set", "tok", SECRET), ("set", f"tok={SECRET}"), ("rotate", "tok", SECRET),
                 ("rm", "tok", SECRET), ("set", SECRET + "!")):
        done = secret(bench, *args)       # the oracles look for the value
        assert done.code == 2 and not store_file(bench).exists(), done
        assert SECRET not in done.error + done.text, done


@pytest.mark.parametrize("value, why", [
    ("", "is empty"), ("short", "shorter than 8"), ("two\nlines-of-it", "control character"),
    ("x" * 16385, "longer than 16384"), (" leading-space", "space")])
def test_what_cannot_be_a_value_is_refused(bench, value, why):
    done = secret(bench, "set", "tok", value=value)
    assert done.code == 2 and why in done.error and not store_file(bench).exists(), done


def test_one_line_break_is_taken_off(bench, echo):
    bench.config(secrets=FROM_STORE)
    for ending in ("\n", "\r\n", ""):
        done = secret(bench, "set", "tok", value=SECRET + ending)
        assert done.code == 0, done
        done = bench.run(f"curl -sS https://api.test/headers {BEARER}", env={"REAL_TOKEN": None})
        assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}", done
        secret(bench, "rm", "tok")
    assert secret(bench, "set", "tok", value=SECRET + "\n\n").code == 2


def test_words_that_do_not_fit(bench):
    assert secret(bench, "rotate", "tok", value=SECRET).code == 2      # no store at all
    assert secret(bench, "rm", "tok").code == 2
    set_one(bench)
    again = secret(bench, "set", "tok", value=NEXT)
    assert again.code == 2 and "warder secret rotate tok" in again.error, again
    for args in (("rotate", "other"), ("rm", "other")):
        done = secret(bench, *args, value=NEXT)
        assert done.code == 2 and "warder secret list" in done.error, done
    done = bench.warder_command("secret", "--help")
    assert done.code == 0 and "warder secret set github" in done.text, done


def test_attack_a_key_that_others_may_read_is_refused(bench):
    set_one(bench)
    key = bench.state / "warder" / "secrets.key"
    key.chmod(0o640)
    done = secret(bench, "list")
    assert done.code == 125 and "can be read or written by others" in done.error, done
    bench.config(secrets=FROM_STORE)
    done = bench.run("true")
    assert done.code == 2 and "can be read or written by others" in done.error, done
    key.chmod(0o600)
    assert secret(bench, "list").code == 0


def test_attack_a_changed_cut_or_foreign_store_says_so_and_is_left_as_it_is(bench):
    set_one(bench)
    file = store_file(bench)
    good = file.read_bytes()
    flipped = good[:-1] + bytes([good[-1] ^ 1])
    for data, why in ((flipped, "damaged or was changed"), (good[:-1], "damaged or was changed"),
                      (good[:40], "cut off"), (b"", "cut off"), (b"hello", "not a secret store")):
        file.write_bytes(data)
        for args in (("list",), ("set", "new"), ("rotate", "tok"), ("rm", "tok")):
            done = secret(bench, *args, value=NEXT)
            assert done.code == 125 and why in done.error, done
        assert file.read_bytes() == data
    file.write_bytes(good)
    key = bench.state / "warder" / "secrets.key"
    kept = key.read_bytes()
    key.write_text("00" * 32 + "\n")
    assert "not written with this key" in secret(bench, "list").error
    key.unlink()
    done = secret(bench, "set", "new", value=NEXT)
    assert done.code == 125 and not key.exists(), done        # no new key for an old store
    key.write_bytes(kept)
    key.chmod(0o600)
    assert secret(bench, "list").code == 0


def test_a_passphrase_opens_a_store(bench, echo):
    phrase = bench.directory / "phrase"
    phrase.write_text("correct horse battery\n")
    opens = {"WARDER_STORE_PASSPHRASE_FILE": str(phrase)}
    done = secret(bench, "set", "--passphrase", "tok", value=SECRET, env=opens)
    assert done.code == 0, done
    assert not (bench.state / "warder" / "secrets.key").exists()
    assert secret(bench, "list", env=opens).code == 0
    bench.config(secrets=FROM_STORE)
    done = bench.run(f"curl -sS https://api.test/headers {BEARER}",
                     env={"REAL_TOKEN": None, **opens})
    assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}", done
    # No terminal and no file; then a wrong one.
    assert secret(bench, "list").code == 125
    phrase.write_text("correct horse\n")
    wrong = secret(bench, "list", env=opens)
    assert wrong.code == 125 and "does not open with this passphrase" in wrong.error, wrong


def test_a_key_may_come_from_systemd(bench):
    credentials = bench.directory / "credentials"
    credentials.mkdir()
    (credentials / "warder-store-key").write_bytes(os.urandom(32))
    (credentials / "warder-store-key").chmod(0o440)       # as systemd gives it to a service's user
    env = {"CREDENTIALS_DIRECTORY": str(credentials)}
    set_one(bench, env=env)
    assert not (bench.state / "warder" / "secrets.key").exists()
    assert json.loads(secret(bench, "list", "--json", env=env).text)["secrets"][0]["name"] == "tok"
    assert secret(bench, "list").code == 125


def test_another_place(bench, echo):
    place = bench.directory / "elsewhere"
    place.mkdir()
    done = secret(bench, "set", "--store", str(place / "mine"), "tok", value=SECRET)
    assert done.code == 0 and (place / "mine.key").exists() and not store_file(bench).exists(), done
    bench.config(secrets={"tok": {"source": {"store": "tok", "file": str(place / "mine")},
                                  "placeholder": {"env": "API_TOKEN"}}})
    done = bench.run(f"curl -sS https://api.test/headers {BEARER}; ls {place}",
                     env={"REAL_TOKEN": None})
    assert echo.requests[-1].get("authorization") == f"Bearer {SECRET}", done
    assert "mine" not in done.text, done            # not to be seen inside


def test_a_value_is_typed_without_echo(bench):
    terminal = Terminal([bench.warder, "secret", "set", "tok"], bench.ws, bench.environment())
    terminal.expect("Value of tok: ")
    time.sleep(0.1)
    terminal.send(SECRET + "\r")
    # All that came in between is the line break.
    assert terminal.expect(r"^(\s*)tok: set, version 1\s"), terminal.seen
    terminal.wait()


def test_a_value_is_in_no_argument_and_no_environment(bench):
    running = subprocess.Popen([bench.warder, "secret", "set", "tok"], stdin=subprocess.PIPE,
                               env=bench.environment({"REAL_TOKEN": None}), cwd=bench.ws,
                               stdout=subprocess.DEVNULL)
    running.stdin.write(SECRET.encode())
    running.stdin.flush()
    time.sleep(0.2)
    for name in ("environ", "cmdline"):
        with open(f"/proc/{running.pid}/{name}", "rb") as file:
            assert SECRET.encode() not in file.read()
    running.stdin.close()
    assert running.wait(10) == 0


def test_fault_writers_that_are_killed_leave_the_store_old_or_new(bench):
    """kill -9 in the middle of `rotate`, over and over; nothing that was there before is lost."""
    set_one(bench, "kept", value=NEXT)
    set_one(bench, "tok", value="value-number-0")
    last = 1
    for round_ in range(60):
        writer = subprocess.Popen([bench.warder, "secret", "rotate", "tok"], cwd=bench.ws,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env=bench.environment({"REAL_TOKEN": None}))
        writer.stdin.write(b"value-number-%d" % round_ * 200)
        writer.stdin.close()
        time.sleep(0.0005 * round_)
        writer.kill()
        told = b"rotated" in writer.stdout.read()
        writer.stdout.close()
        writer.wait()
        listed = json.loads(subprocess.run(
            [bench.warder, "secret", "list", "--json"], capture_output=True, check=True,
            env=bench.environment({"REAL_TOKEN": None})).stdout)["secrets"]
        versions = {s["name"]: s["version"] for s in listed}
        assert versions["kept"] == 1 and versions["tok"] in (last, last + 1), (versions, last)
        assert not told or versions["tok"] == last + 1       # what was said to be done is done
        last = versions["tok"]
    assert last > 1, "every writer was killed before it did anything"
    assert secret(bench, "rotate", "tok", value=SECRET).code == 0


def test_two_writers_and_more_lose_nothing(bench):
    set_one(bench, "tok", value="value-number-0")

    def rotate(count):
        for _ in range(count):
            subprocess.run([bench.warder, "secret", "rotate", "tok"], input=b"value-of-somebody",
                           check=True, env=bench.environment(), stdout=subprocess.DEVNULL)

    def set_own(name):
        for n in range(5):
            subprocess.run([bench.warder, "secret", "set", f"{name}-{n}"], input=b"value-of-mine",
                           check=True, env=bench.environment(), stdout=subprocess.DEVNULL)
    threads = [threading.Thread(target=rotate, args=(8,)) for _ in range(4)]
    threads += [threading.Thread(target=set_own, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    listed = json.loads(secret(bench, "list", "--json").text)["secrets"]
    assert {s["name"]: s["version"] for s in listed} == {
        "tok": 33, **{f"{name}-{n}": 1 for name in "ab" for n in range(5)}}
