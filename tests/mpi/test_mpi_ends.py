#!/usr/bin/python3
"""test_mpi_ends.py COMM_DRIVER - one process fails or is killed: all end, soon, with its code."""
import os
import signal
import subprocess
import sys
import time

driver = sys.argv[1]


def run(ranks, *words):
    begun = time.time()
    done = subprocess.run([os.environ["MPIEXEC"], "-n", str(ranks), driver, *words],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, time.time() - begun, done.stdout


def ends(launcher):
    """The exit codes of all its processes that have ended; it is stopped and has not asked."""
    found = []
    for pid in os.popen("pgrep -P %d" % launcher).read().split():
        with open("/proc/%s/stat" % pid) as f:
            part = f.read().rsplit(")", 1)[1].split()
        if part[0] == "Z":
            found.append(int(part[-1]) >> 8)
    return found


def run_without_launcher(ranks, which, code):
    """The launcher does not answer when a process wants to end the job."""
    p = subprocess.Popen([os.environ["MPIEXEC"], "-n", str(ranks), driver, "stop", str(which),
                          str(code)], stderr=subprocess.DEVNULL)
    until = time.time() + 60
    while len(ends(p.pid)) < ranks and time.time() < until:
        time.sleep(0.1)
    found = ends(p.pid)
    os.kill(p.pid, signal.SIGCONT)
    p.wait()
    assert found == ranks * [code], (ranks, which, code, found)


for ranks, which, code in (2, 0, 3), (2, 1, 4), (3, 2, 7):
    got, seconds, _ = run(ranks, "fail", str(which), str(code))
    assert got == code, (ranks, which, code, got)
    assert seconds < 30, seconds
for ranks, which in (2, 0), (3, 1):
    got, seconds, _ = run(ranks, "die", str(which))
    assert got != 0, (ranks, which)
    assert seconds < 30, seconds
for ranks, odd in (2, 1), (3, 0), (3, 1):  # no one goes on, to save what may be wrong
    got, seconds, text = run(ranks, "differ", str(odd))
    assert got == 1 and text == "", (ranks, odd, got, text)
assert run(3, "differ", "-1")[::2] == (0, 3 * "went on\n")
run_without_launcher(3, 1, 3)
