"""Where the servers' programs are: beside our Python, in a wheel, or on the PATH."""

import importlib.util
import shutil
import sysconfig
from pathlib import Path

from samovar.errors import StackError


def script(name: str, wheel: str) -> Path:
    """Find a program that a wheel puts beside Python (else one on the PATH)."""
    found = shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
    if found is None:
        raise StackError(
            f"the program '{name}' is missing: the package {wheel} is not installed "
            "(run 'make setup'), and there is none on the PATH"
        )
    return Path(found)


def package_directory(package: str) -> Path | None:
    """Return the folder of an installed package without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent
