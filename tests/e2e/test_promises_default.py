"""Promise 7, attacked: what a sandbox may leave behind for the next run to believe."""

import os
import subprocess

from support.marks import both_users


@both_users
def test_cmd_cannot_change_what_the_next_run_believes(bench, echo):
    """The configuration named by --config, and the certificates that it names, lie in the workspace (BR-138)."""
    (bench.ws / "conf").mkdir()
    bench.config()
    config = bench.ws / "t.yaml"
    before, ca = config.read_bytes(), (bench.ws / "test-ca.pem").read_bytes()
    done = bench.run("for f in t.yaml test-ca.pem; do (echo '# mine' >> $f); (: > $f); rm -f $f; mv $f gone; "
                     "echo x > n; mv n $f; ln -sf /etc/passwd $f; chmod 777 $f; done; rm -f n; echo ran",
                     creates=["n", "gone"])
    assert done.text.endswith("ran\n"), done
    assert config.read_bytes() == before and (bench.ws / "test-ca.pem").read_bytes() == ca
    assert not config.is_symlink()
    done = bench.run("curl -sS https://api.test/ok")
    assert done.text == "ok", done


@both_users
def test_a_directory_above_the_configuration_cannot_be_moved_away(bench, echo):
    bench.config(name="deep/er/t.yaml", gateway={"audit": {"file": "../../audit/audit.jsonl"}})
    done = bench.run("mv deep elsewhere; mv deep/er deep/elsewhere; mkdir -p deep/er; "
                     "(echo x > deep/er/t.yaml); echo ran", config="deep/er/t.yaml")
    assert done.text == "ran\n", done
    assert (bench.ws / "deep/er/t.yaml").read_text().startswith("version: 1")


def test_a_link_to_the_configuration_is_refused(bench, echo):
    """It could be pointed elsewhere: a mount holds what it leads to, never the link."""
    bench.config(name="real.yaml")
    (bench.ws / "t.yaml").symlink_to("real.yaml")
    done = bench.run("echo started", verify=False)
    assert done.code == 2 and "t.yaml is a link" in done.error and "started" not in done.text, done


def test_a_fifo_as_warder_yaml_does_not_hang_the_next_run(bench, echo):
    os.mkfifo(bench.ws / "warder.yaml")
    for command in (["run", "--", "echo", "started"], ["trust"]):
        done = bench.warder_command(*command, timeout=10)
        assert done.code == 2 and "not a regular file" in done.error and "started" not in done.text, done


@both_users
def test_names_and_arguments_are_bytes(bench, echo):
    odd = bench.ws / b"\xff \n".decode("utf-8", "surrogateescape")
    odd.mkdir()
    bench.config()
    bench.own()
    done = subprocess.run([*bench.argv(["/bin/sh", "-c", "pwd; printf %s \"$1\"", "sh", b"a\xffb\n"])],
                          cwd=odd, env=bench.environment(), capture_output=True, timeout=20)
    assert done.returncode == 0, done
    assert done.stdout == os.fsencode(odd) + b"\n" + b"a\xffb\n", done
    assert bench.verify().returncode == 0
