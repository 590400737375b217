import subprocess
import sys

CODE = """
import sys
from shared import telemetry
telemetry.setup("test", "1", "INFO", None)
import structlog, logging
try:
    raise KeyError("x")
except KeyError:
    structlog.get_logger().exception("failed")
logging.getLogger("other").warning("text")
print("goes on")
"""


def run(target):
    with open(target, "w") as stderr:
        return subprocess.run(
            [sys.executable, "-c", CODE], stdout=subprocess.PIPE, stderr=stderr, check=False
        )


def test_a_full_disk_stops_the_log_and_not_the_work():
    assert run("/dev/full").stdout == b"goes on\n"


def test_logs_are_json_with_service_and_time(tmp_path):
    import json

    run(tmp_path / "log")
    first = json.loads((tmp_path / "log").read_text().splitlines()[0])

    assert (first["service"], first["event"], first["level"]) == ("test", "failed", "error")
    assert "KeyError" in first["exception"]
    assert first["timestamp"].endswith("Z")
