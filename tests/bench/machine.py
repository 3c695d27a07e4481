"""Describes the machine, and measures how much of it other processes used while a command ran."""
import os
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time

signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unwinds: the command that runs ends too

BUSY_SHARE = 0.05  # of all cores: above it a run is unreliable
INSTRUCTION_SETS = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd", "sve", "bf16")


def cores():
    return len(os.sched_getaffinity(0))


def cpu_info():
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = fields.get("flags", fields.get("Features", "")).split()
    return {"cpu": fields.get("model name", platform.machine()), "cores": cores(),
            "instruction_sets": [name for name in INSTRUCTION_SETS if name in flags],
            "virtual": "hypervisor" in flags, "system": f"{platform.system()} {platform.release()}"}


def ticks():
    """Busy and stolen seconds of all cores since boot."""
    user, nice, system, _, _, irq, softirq, steal = map(int, open("/proc/stat").readline().split()[1:9])
    hertz = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / hertz, steal / hertz


class RunFailed(Exception):
    pass


def run_measured(command, environment=None, limit=3600, stdin=None, keep_errors=False):
    """Runs a command; returns its standard output, load, share of other processes, and times.

    `stdin`: a file. `keep_errors`: standard error is among the results.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        load_before, (busy_before, steal_before), begin = os.getloadavg()[0], ticks(), time.monotonic()
        with open(stdin or os.devnull, "rb") as source:
            process = subprocess.Popen([str(part) for part in command], stdin=source, stdout=output, stderr=errors, text=True,
                                       env=os.environ | (environment or {}), start_new_session=True)
        try:
            usage = wait(process, begin + limit)
        except BaseException:
            end(process)
            raise
        seconds = time.monotonic() - begin
        (busy, steal), load_after = ticks(), os.getloadavg()[0]
        output.seek(0), errors.seek(0)
        if process.returncode != 0:
            lines = [line for line in errors.read().splitlines() if line.strip()]
            raise RunFailed(lines[-1][:300] if lines else f"exit status {process.returncode}")
        capacity = seconds * cores()
        others = max(0.0, busy - busy_before - usage.ru_utime - usage.ru_stime) / capacity
        kept = {"errors": errors.read()} if keep_errors else {}
        return output.read(), kept | {"load_before": load_before, "load_after": load_after, "wall_seconds": seconds,
                               "others": others, "stolen": (steal - steal_before) / capacity,
                               "cpu_seconds": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}


def wait(process, deadline):
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage
        if time.monotonic() > deadline:
            raise RunFailed("took too long")
        time.sleep(0.05)


def end(process):
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)  # its session has only this command's processes
        process.wait()
