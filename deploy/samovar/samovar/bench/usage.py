"""CPU seconds and memory of process families, read from the operating system."""

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds used so far, and resident (proportional where known) memory in bytes."""

    cpu_s: float
    memory_bytes: int


def usage(pid: int) -> Usage:
    """Sum a process and its descendants; shared pages of PostgreSQL are counted once."""
    parent = psutil.Process(pid)
    family = [parent, *parent.children(recursive=True)]
    cpu_s, memory = 0.0, 0
    for member in family:
        try:
            times = member.cpu_times()
            cpu_s += times.user + times.system
            memory += _memory(member)
        except psutil.NoSuchProcess:
            continue
    # Backends that ended are in their parent's account of waited-for children.
    waited = parent.cpu_times()
    cpu_s += waited.children_user + waited.children_system
    return Usage(cpu_s, memory)


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.AccessDenied:
        return int(process.memory_info().rss)
