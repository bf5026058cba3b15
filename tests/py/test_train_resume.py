"""A training that is killed again and again ends with the bytes of one that was not.

usage: test_train_resume.py COKE [KILLS]

Every process of the interrupted run is ended by SIGKILL after a random time, or by a signal that
asks it to save and stop (exit code 75); then the same command goes on."""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

COKE = sys.argv[1]
KILLS = int(sys.argv[2]) if len(sys.argv) > 2 else 25
TRAIN = ["train", "synthetic:n=150,size=16", "--arch", "resnet18", "--stem", "cifar", "--width",
         "0.0625", "--dim", "16", "--recipe", "cifar", "--size", "16", "--batch", "16", "-k",
         "5,10", "--epochs", "5", "--warmup", "1", "--optimizer", "sgd", "--rate", "0.05",
         "--save-steps", "2", "--monitor", "2", "--keep-best", "--threads", "1", "-q"]
SAME = ["final.safetensors", "metrics.jsonl", "config.json", "labels-h0-k5.npy",
        "labels-h1-k10.npy", "centers-h0-k5.npy", "centers-h1-k10.npy"]


def start(run):
    return subprocess.Popen([COKE] + TRAIN + ["-o", run], stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)


def read(run, name):
    with open(os.path.join(run, name), "rb") as f:
        return f.read()


def main():
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as tmp:
        whole, broken = tmp + "/whole", tmp + "/broken"
        begun = time.time()
        p = start(whole)
        text = p.communicate()[1]
        assert p.returncode == 0, text
        length = time.time() - begun
        kills = {signal.SIGKILL: 0, signal.SIGTERM: 0, signal.SIGUSR1: 0, signal.SIGINT: 0}
        codes = set()
        tries = 0
        while sum(kills.values()) < KILLS and tries < 6 * KILLS:
            tries += 1
            p = start(broken)
            # Long enough to come to its first steps, most of the time.
            time.sleep(length * rng.uniform(0.05, 0.35))
            which = rng.choice([signal.SIGKILL] * 3 + [signal.SIGTERM, signal.SIGUSR1,
                                                       signal.SIGINT])
            p.send_signal(which)
            text = p.communicate()[1]
            codes.add(p.returncode)
            if p.returncode == 0:  # done before the signal came: once more from the beginning
                compare(whole, broken)
                subprocess.run(["rm", "-rf", broken], check=True)
                continue
            # A signal may come before the program has asked for it.
            assert p.returncode in (75, -which), (p.returncode, text)
            kills[which] += 1
        p = start(broken)
        text = p.communicate()[1]
        assert p.returncode == 0, text
        compare(whole, broken)
        left = [n for n in os.listdir(broken) if n.startswith(".coke")]
        print("%d processes ended: %s; exit codes %s; %d of them completed; left %s"
              % (tries, {k.name: v for k, v in kills.items()}, sorted(codes),
                 tries - sum(kills.values()), left))
        assert kills[signal.SIGKILL] > 0 and 75 in codes, (kills, codes)


def compare(whole, broken):
    for name in SAME:
        assert read(whole, name) == read(broken, name), name


main()
