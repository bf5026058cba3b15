#!/usr/bin/python3
"""test_mpi_ends.py COMM_DRIVER - one process fails or is killed: all end, soon, with its code."""
import os
import subprocess
import sys
import time

driver = sys.argv[1]


def run(ranks, *words):
    begun = time.time()
    done = subprocess.run([os.environ["MPIEXEC"], "-n", str(ranks), driver, *words],
                          capture_output=True, text=True, timeout=60)
    return done.returncode, time.time() - begun, done.stdout


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
