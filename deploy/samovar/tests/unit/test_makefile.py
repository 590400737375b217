"""The Makefile before and after set-up, in a copy of its own and without a network."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from samovar import paths

# A Python without venv, whose pip brings a uv that can make environments and nothing else.
_PYTHON = """\
#!/bin/sh
case "$*" in
  *"import sys"*) exit 0 ;;
  *"import venv"*) exit 1 ;;
  "-m pip --version") exit 0 ;;
esac
echo "$*" >> "$0.calls"
test -e "$0.offline" && exit 1
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/bin"
cat > "$2/bin/uv" <<'UV'
#!/bin/sh
for venv; do :; done
rm -rf "$venv"
mkdir -p "$venv/bin"
touch "$venv/bin/python"
UV
chmod +x "$2/bin/uv"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copy(paths.project_root() / "Makefile", tmp_path)
    (tmp_path / "deploy").mkdir()
    shutil.copy(paths.deploy_file("bootstrap-venv.sh"), tmp_path / "deploy")
    return tmp_path


def _make(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_help_names_every_target_for_people(project: Path) -> None:
    described = re.findall(r"^([\w-]+):.*## ", (project / "Makefile").read_text(), re.MULTILINE)

    told = _make(project).stdout

    assert "test-e2e" in described
    assert [line.split()[0] for line in told.splitlines()] == described


@pytest.mark.parametrize("target", ["down", "status"])
def test_stopping_and_looking_set_nothing_up(project: Path, target: str) -> None:
    done = _make(project, target)

    assert done.returncode != 0
    assert "Nothing was set up here" in done.stderr
    assert not (project / ".venv").exists()


def test_stopping_needs_no_network_after_a_pull(project: Path) -> None:
    program = project / ".venv" / "bin" / "samovar"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "samovar $*"\n')
    program.chmod(0o755)

    assert _make(project, "down").stdout == "samovar down\n"


@pytest.mark.parametrize("leftover", [None, "python"])
def test_a_set_up_that_failed_halfway_is_done_again(project: Path, leftover: str | None) -> None:
    python, venv = project / "python-alone", project / ".venv"
    python.write_text(_PYTHON)
    python.chmod(0o755)
    offline = project / "python-alone.offline"
    offline.touch()
    if leftover is not None:
        (venv / "bin").mkdir(parents=True)
        (venv / "bin" / leftover).touch()

    failed = _make(project, ".venv/bin/uv", f"PYTHON={python}")
    offline.unlink()
    done = _make(project, ".venv/bin/uv", f"PYTHON={python}")
    again = _make(project, ".venv/bin/uv", f"PYTHON={python}")

    assert failed.returncode != 0
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in (venv / "bin").iterdir()) == ["python", "uv"]
    assert again.returncode == 0
    assert len((project / "python-alone.calls").read_text().splitlines()) == 2
