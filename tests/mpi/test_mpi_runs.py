#!/usr/bin/python3
"""`mpirun coke train` as users meet it: it stops on a signal, loses a process, goes on with the
same bytes, and says in one sentence what cannot be.

usage: test_mpi_runs.py COKE [KILLS]     MPIEXEC in the environment starts processes
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COKE, MPIEXEC = sys.argv[1], os.environ["MPIEXEC"]
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
DATA = "synthetic:n=34,size=16"
# Views of 48 pixels make a step take longer than a signal needs to arrive.
TRAIN = ["--arch", "resnet18", "--stem", "cifar", "--width", "0.125", "--dim", "16", "--recipe",
         "single", "--no-predictor", "--beta", "0", "--size", "48", "--batch", "16", "-k", "5,10",
         "--epochs", "3", "--warmup", "1", "--optimizer", "sgd", "--rate", "0.05", "--save-steps",
         "1", "--monitor", "0", "--threads", "1"]
SAME = ["final.safetensors", "metrics.jsonl", "config.json", "labels-h0-k5.npy",
        "labels-h1-k10.npy", "centers-h0-k5.npy", "centers-h1-k10.npy"]

LOSS = 0.05  # share


def start(ranks, run, *more):
    return subprocess.Popen([MPIEXEC, "-n", str(ranks), COKE, "train", DATA] + TRAIN +
                            ["-o", run] + list(more), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(process, code):
    out, text = process.communicate(timeout=120)
    if code is not None:
        assert process.returncode == code, (process.returncode, text)
    return out, text


def read(run, name):
    with open(os.path.join(run, name), "rb") as f:
        return f.read()


def compare(a, b):
    for name in SAME:
        assert read(a, name) == read(b, name), name


def wait_for(run, steps):
    """Until so many steps are saved."""
    until = time.time() + 30
    while time.time() < until:
        names = os.listdir(run) if os.path.isdir(run) else []
        saved = [n for n in names if n.startswith("checkpoint-") and n.endswith(".safetensors")]
        if any(int(n[11:17]) * 3 + int(n[18:26]) >= steps for n in saved):
            return
        time.sleep(0.002)
    raise AssertionError("no checkpoint in 30 seconds")


def ranks_of(parent):
    """Processes of ours below mpirun."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid) as f:
                stat = f.read()
            if int(stat.rsplit(")", 1)[1].split()[1]) == parent and "(coke)" in stat:
                found.append(int(pid))
        except OSError:
            pass
    return found


def stop(run, steps):
    """SIGUSR1 after so many steps; a run that was faster than the signal is run again."""
    for _ in range(20):
        shutil.rmtree(run, ignore_errors=True)
        p = start(2, run)
        wait_for(run, steps)
        p.send_signal(signal.SIGUSR1)
        text = end(p, None)[1]
        if p.returncode != 0:
            break
    assert p.returncode == 75, (p.returncode, text)
    return text


def check_signal(tmp, whole):
    run = tmp + "/stopped"
    text = stop(run, 2)
    assert text.count("run the same command to resume") == 1, text
    assert not os.path.exists(run + "/final.safetensors")
    left = run + "/.coke-0123456789abcdef.tmp"  # as by a process that was killed while it wrote
    with open(left, "w") as f:
        f.write("half a checkpoint")
    end(start(2, run), 0)
    assert not os.path.exists(left)
    compare(whole, run)


def check_kill(tmp, whole, rng):
    run = tmp + "/killed"
    shutil.rmtree(run, ignore_errors=True)
    p = start(2, run)
    wait_for(run, rng.randint(1, 6))
    time.sleep(rng.uniform(0, 0.2))
    ranks = ranks_of(p.pid)
    if ranks:
        os.kill(rng.choice(ranks), signal.SIGKILL)
    begun = time.time()
    end(p, None)
    assert time.time() - begun < 30
    if ranks and not os.path.exists(run + "/final.safetensors"):
        assert p.returncode != 0
    end(start(2, run), 0)
    compare(whole, run)


def losses(run):
    return [r["loss"] for r in map(json.loads, read(run, "metrics.jsonl").splitlines())
            if "heads" in r]


def check_other_number(tmp, whole):
    """2 processes, then 3: nothing but roundings differs, and they grow within an epoch or two."""
    run = tmp + "/moved"
    stop(run, 4)
    text = end(start(3, run), 2)[1]
    assert "the number of processes was 2 and is now 3: the result" in text, text
    text = end(start(3, run, "--resume-anyway"), 0)[1]
    assert "resumed although the number of processes was 2 and is now 3" in text, text
    for a, b in zip(losses(whole), losses(run), strict=True):
        assert abs(a - b) < LOSS * a, (losses(whole), losses(run))


def check_shard(tmp):
    """Process 1 finds the same list of images, but other bytes in one of the shards."""
    good, bad = tmp + "/good", tmp + "/worse"
    os.mkdir(good)
    subprocess.run([COKE, "data", "pack", DATA, "-o", good + "/s", "--format", "ppm",
                    "--shard-size", "20000", "-q"], check=True, capture_output=True)
    shutil.copytree(good, bad)
    with open(bad + "/s-000001.tar", "r+b") as f:
        content = f.read()
        f.seek(0)
        f.write(content.replace(b"P6\n", b"P6\t"))
    words = [COKE, "train", "s-{000000..000004}.tar"] + TRAIN + ["-o", tmp + "/shards"]
    done = subprocess.run([MPIEXEC, "-n", "1", "-wdir", good] + words +
                          [":", "-n", "1", "-wdir", bad] + words,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "coke: process 1: the content of s-000001.tar/" in done.stderr, done.stderr


def check_words(tmp, code, words, count, *parts):
    """parts: the arguments of each process."""
    command = [MPIEXEC]
    for i, part in enumerate(parts):
        command += ([":"] if i else []) + ["-n", "1", COKE] + part
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert done.stderr.count(words) == count, (words, done.stderr)


def check_bad_input(tmp):
    good = ["train", DATA] + TRAIN + ["-o", tmp + "/bad"]
    other = good + ["--batch", "8"]
    check_words(tmp, 2, "option 'batch' is 8 in process 1, but 16 in process 0", 1, good, other)
    other = ["train", "synthetic:n=34,size=16,seed=9"] + good[2:]
    check_words(tmp, 2, "the list of images is", 1, good, other)
    other = ["train", tmp + "/nowhere"] + good[2:]
    check_words(tmp, 4, "process 1: ", 1, good, other)
    check_words(tmp, 2, "batch: 2 images are too few for 3 processes", 1,
                *[good + ["--batch", "2"]] * 3)
    check_words(tmp, 2, "missing data set", 1, ["train"], ["train"])
    check_words(tmp, 2, "--tune needs a single process", 1, *[good + ["--tune"]] * 2)
    done = subprocess.run([MPIEXEC, "-n", "1", COKE] + good + [":", "-n", "1", "env", "COKE_ISA=ref",
                                                               COKE] + good,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2, done.stderr
    assert "the instruction set is ref in process 1, but " in done.stderr, done.stderr
    missing = dict(os.environ, COKE_MPI=tmp + "/libcoke-mpi.so")
    done = subprocess.run([MPIEXEC, "-n", "2", COKE] + good, capture_output=True, text=True,
                          env=missing, timeout=60)
    assert done.returncode == 1 and "cannot reach each other" in done.stderr, done.stderr


def main():
    rng = random.Random(11)
    with tempfile.TemporaryDirectory() as tmp:
        whole = tmp + "/whole"
        out, text = end(start(2, whole), 0)
        assert out.count("3 epochs, loss") == 1, out
        assert text.count("2 processes, 1 thread each") == 1, text
        if KILLS == 1:
            check_bad_input(tmp)
            check_signal(tmp, whole)
            check_other_number(tmp, whole)
            check_shard(tmp)
        for _ in range(KILLS):
            check_kill(tmp, whole, rng)


main()
