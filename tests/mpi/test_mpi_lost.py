#!/usr/bin/python3
"""A process is killed under a launcher that leaves the others alone (mpirun --enable-recovery):
every survivor exits with 7 within COKE_LOST_SECONDS. A process that is only stopped for a while
is not lost, and costs no bytes.

usage: test_mpi_lost.py COKE [KILLS]     MPIEXEC in the environment starts processes; 77: it
                                         cannot leave the others alone
       test_mpi_lost.py --rank FOLDER PROGRAM ARGUMENT...
                                         what it starts: leaves the process's id and its end
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

import numpy as np

SECONDS = 10
TRAIN = ["train", "synthetic:n=34,size=16", "--arch", "resnet18", "--stem", "cifar", "--width",
         "0.0625", "--dim", "16", "--recipe", "single", "--no-predictor", "--beta", "0", "--size",
         "16", "--batch", "16", "-k", "5,10", "--epochs", "400", "--warmup", "1", "--optimizer",
         "sgd", "--rate", "0.05", "--save-steps", "1", "--monitor", "2", "--threads", "1"]
CLUSTER = ["cluster", "x.npy", "-k", "300", "--ratio", "0.9", "--epochs", "4000", "--batch", "100",
           "--threads", "1"]


def put(folder, name, value):
    path = os.path.join(folder, name)
    with open(path + ".part", "w") as f:
        json.dump(value, f)
    os.rename(path + ".part", path)


def be_rank(folder, command):
    rank = os.environ["OMPI_COMM_WORLD_RANK"]
    child = subprocess.Popen(command)
    put(folder, "begun-" + rank, child.pid)
    code = child.wait()
    put(folder, "ended-" + rank, [code, time.time()])
    if code < 0:  # the launcher sees what happened
        os.kill(os.getpid(), -code)
    sys.exit(code)


def get(folder, what, ranks, seconds):
    """The files of all these ranks, as {rank: value}; fewer if the time is over before."""
    found = {}
    until = time.time() + seconds
    while len(found) < len(ranks) and time.time() < until:
        for r in set(ranks) - set(found):
            path = "%s/%s-%d" % (folder, what, r)
            if os.path.exists(path):
                with open(path) as f:
                    found[r] = json.load(f)
        time.sleep(0.02)
    return found


def start(tmp, ranks, words, *more):
    shutil.rmtree(tmp + "/ranks", ignore_errors=True)
    shutil.rmtree(tmp + "/out", ignore_errors=True)
    os.mkdir(tmp + "/ranks")
    p = subprocess.Popen([os.environ["MPIEXEC"], *more, "-n", str(ranks), sys.executable, __file__,
                          "--rank", tmp + "/ranks", COKE] + words + ["-o", "out"], cwd=tmp,
                         env=dict(os.environ, COKE_LOST_SECONDS=str(SECONDS)),
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    pids = get(tmp + "/ranks", "begun", range(ranks), 30)
    assert len(pids) == ranks, pids
    return p, pids


def computes(pid):
    """Joined the others, and at work: it has used more than its start needs."""
    with open("/proc/%d/stat" % pid) as f:
        part = f.read().rsplit(")", 1)[1].split()
    return int(part[11]) + int(part[12]) > 30


def wait_for_work(pids):
    until = time.time() + 60
    while not all(map(computes, pids.values())):
        assert time.time() < until, "nothing is computed"
        time.sleep(0.02)


def end(p, pids):
    for pid in pids.values():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    p.kill()
    return p.communicate()[1]


def check_kill(tmp, rng, words):
    ranks = rng.choice((2, 3))
    victim = rng.randrange(ranks)
    p, pids = start(tmp, ranks, words, "--enable-recovery")
    wait_for_work(pids)
    time.sleep(rng.uniform(0, 1))
    others = [r for r in range(ranks) if r != victim]
    begun = time.time()
    os.kill(pids[victim], signal.SIGKILL)
    ended = get(tmp + "/ranks", "ended", others, 3 * SECONDS)
    text = end(p, pids)
    assert sorted(ended) == others, (words[0], ranks, victim, ended, text)
    for r in others:
        code, when = ended[r]
        assert code == 7 and when - begun < SECONDS, (words[0], ranks, victim, r, ended, text)
    assert "process %d is gone" % victim in text, text
    return max(when - begun for _, when in ended.values())


def short(words, epochs):
    at = words.index("--epochs") + 1
    return words[:at] + [str(epochs)] + words[at + 1:]


def pause(pid, seconds):
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.2)
    except ProcessLookupError:
        pass  # it was faster


def check_stop(tmp, words, epochs, name):
    """SIGSTOP to one process for a while, in which the others wait for it."""
    found = []
    for stops in 0, 2:
        p, pids = start(tmp, 2, short(words, epochs), "--enable-recovery")
        if stops:
            wait_for_work(pids)
        for i in range(stops):
            pause(pids[i], SECONDS * 0.25)
        text = p.communicate(timeout=120)[1]
        assert p.returncode == 0, (p.returncode, text)
        with open("%s/out/%s" % (tmp, name), "rb") as f:
            found.append(f.read())
    assert found[0] == found[1]


def leaves_others(tmp):
    """Does the launcher know the option, and leave its variables?"""
    done = subprocess.run([os.environ["MPIEXEC"], "--enable-recovery", "-n", "2", "sh", "-c",
                           "test $OMPI_COMM_WORLD_SIZE = 2"], capture_output=True, cwd=tmp)
    return done.returncode == 0


def main():
    rng = random.Random(time.time())
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as tmp:
        if not leaves_others(tmp):
            sys.exit(77)
        x = np.random.default_rng(5).normal(size=(6000, 24)).astype("f4")
        np.save(tmp + "/x.npy", x)
        for i in range(kills):
            for words in TRAIN, CLUSTER:
                print(words[0], "%.2f s" % check_kill(tmp, rng, words), flush=True)
        check_stop(tmp, TRAIN, 20, "final.safetensors")
        check_stop(tmp, CLUSTER, 300, "labels.npy")


if sys.argv[1] == "--rank":
    be_rank(sys.argv[2], sys.argv[3:])
COKE = sys.argv[1]
main()
