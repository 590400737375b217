import os
import signal
import subprocess
import sys

CODE = """
from shared.failpoints import hit
for _ in range(3):
    hit("here")
print("alive")
"""


def run(spec):
    env = {**os.environ, **({"SAMOVAR_FAILPOINT": spec} if spec else {})}
    return subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, check=False)


def test_without_the_variable_nothing_happens():
    assert run(None).stdout == b"alive\n"


def test_another_name_does_nothing():
    assert run("elsewhere").stdout == b"alive\n"


def test_the_named_place_kills_the_process():
    assert run("here").returncode == -signal.SIGKILL


def test_a_count_kills_at_that_hit_only():
    assert run("here:3").returncode == -signal.SIGKILL
    assert run("here:4").stdout == b"alive\n"
