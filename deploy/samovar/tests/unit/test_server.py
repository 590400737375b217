"""Starting, stopping and explaining one child process, with small children of our own."""

import errno
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from typing_extensions import override

from samovar import process
from samovar.embedded.server import Server, stop_together
from samovar.errors import StackError


class Script(Server):
    """A shell script; it is ready when the file ``ready`` exists."""

    start_timeout_s = 5.0
    orphans_timeout_s = 0.1

    def __init__(self, directory: Path, text: str) -> None:
        super().__init__("script", directory / "logs" / "script.log", {})
        self._ready = directory / "ready"
        self._text = text.format(ready=self._ready)

    @override
    def command(self) -> list[str]:
        return ["/bin/sh", "-c", self._text]

    @override
    def is_ready(self) -> bool:
        return self._ready.exists()


def test_a_child_that_ends_while_starting_is_explained_by_its_log(tmp_path: Path) -> None:
    server = Script(tmp_path, "echo all is well; echo FATAL: no such setting >&2; exit 3")

    with pytest.raises(StackError) as caught:
        server.start()

    assert str(caught.value) == (
        "script ended while starting (exit code 3): FATAL: no such setting "
        f"(log: {tmp_path}/logs/script.log)"
    )


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ("could not write: No space left on device", "the disk is full"),
        ("open /x: permission denied", "it has no right to a file or directory"),
    ],
)
def test_causes_that_a_person_can_remedy_are_named(tmp_path: Path, words: str, cause: str) -> None:
    server = Script(tmp_path, f"echo '{words}'; echo shutting down; exit 1")

    with pytest.raises(StackError, match=cause):
        server.start()


def test_a_child_that_never_answers_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Script, "start_timeout_s", 0.1)
    server = Script(tmp_path, "exec sleep 60")

    with pytest.raises(StackError, match="did not answer within 0 s: it wrote nothing"):
        server.start()

    assert server.running is None


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="cannot start /no/such: there is no such program"):
        process.spawn(["/no/such"], tmp_path / "log")


def test_children_that_ignore_the_polite_signal_are_killed_in_time(tmp_path: Path) -> None:
    stubborn = Script(tmp_path / "a", "trap '' TERM; touch {ready}; while :; do sleep 0.05; done")
    polite = Script(tmp_path / "b", "touch {ready}; exec sleep 60")
    for server in (stubborn, polite):
        (tmp_path / "a").mkdir(exist_ok=True)
        (tmp_path / "b").mkdir(exist_ok=True)
        server.start()
    assert polite.running is not None
    polite_process = polite.running
    begin = time.monotonic()

    stop_together([stubborn, polite], timeout_s=0.5)

    assert time.monotonic() - begin < 3
    assert polite_process.returncode == -signal.SIGTERM
    assert stubborn.running is None


def test_a_kill_takes_the_grandchildren_along(tmp_path: Path) -> None:
    server = Script(tmp_path, "sleep 60 & touch {ready}; wait")
    server.start()
    assert server.running is not None
    assert process.wait_until(lambda: bool(process.descendants(server.running.pid)), 5)  # type: ignore[union-attr]
    family = process.descendants(server.running.pid)

    server.kill()

    assert family
    assert not any(process.is_living(member) for member in family)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
def test_children_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, time\n"
        "from samovar.process import spawn\n"
        "child = spawn(['/bin/sleep', '60'], pathlib.Path(sys.argv[1]))\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))

        parent.send_signal(signal.SIGKILL)

    assert process.wait_gone([child], 5) == []


def test_a_log_that_has_grown_too_large_is_cut_under_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LOG_SIZE_MAX_BYTES", 6)
    log = tmp_path / "nats.log"
    with log.open("ab", buffering=0) as writer:
        writer.write(b"one\ntwo\nthree\n")

        process.rotate(log)
        writer.write(b"four\n")
        process.rotate(log)

    assert log.read_text() == "four\n"
    assert (tmp_path / "nats.1.log").read_text() == "three\n"


def test_a_log_is_cut_even_if_there_is_no_room_for_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "LOG_SIZE_MAX_BYTES", 6)
    log = tmp_path / "nats.log"
    log.write_text("one\ntwo\nthree\n")
    (tmp_path / "nats.1.log").symlink_to("/dev/full")

    process.rotate(log)

    assert log.read_text() == ""


@pytest.mark.parametrize(
    ("number", "cause"), [(errno.EAGAIN, "EAGAIN"), (errno.ENOMEM, "there is not enough memory")]
)
def test_a_system_without_room_for_a_process_is_an_error_with_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, cause: str
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        text = "Cannot allocate memory" if number == errno.ENOMEM else "EAGAIN"
        raise OSError(number, text)

    monkeypatch.setattr(subprocess, "Popen", refuse)

    with pytest.raises(StackError, match=f"cannot start script: .*{cause}"):
        Script(tmp_path, "exit").launch()


def test_a_log_that_cannot_be_made_is_an_error_with_a_name(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()

    with pytest.raises(StackError, match=r"cannot start script: .*logs"):
        Script(tmp_path, "exit").launch()


def test_the_tail_of_a_log_skips_empty_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n\ntwo\nthree\n\n")

    assert process.tail(log, lines=2) == ["two", "three"]
    assert process.tail(tmp_path / "absent") == []
