"""jobs.py - the commands that write files, on small inputs, and what their outputs must be.

A job is a command line with {in} for the folder of inputs and {out} for an empty folder. Its
reference outputs are those of an undisturbed run."""
import hashlib
import json
import os
import shutil
import struct
import subprocess
import time

BASE = ["train", "{in}/photos", "--stem", "cifar", "--width", "0.0625", "--size", "16", "--batch",
        "8", "--epochs", "4", "--warmup", "1", "--optimizer", "sgd", "--rate", "0.05",
        "--save-steps", "2", "--threads", "1", "-q", "-o", "{out}/run"]
TRAIN = BASE + ["--dim", "8", "--recipe", "cifar-single", "-k", "3,5"]

JOBS = {
    "cluster": ["cluster", "{in}/x.npy", "-k", "10", "--restarts", "1", "--polish", "2", "-o",
                "{out}/c", "--threads", "1", "-q"],
    "assign": ["assign", "{in}/c", "{in}/x.npy", "-o", "{out}/labels.npy", "--threads", "1",
               "-q"],
    "train": TRAIN,
    "resume": TRAIN,
    "embed": ["embed", "{in}/run", "{in}/photos", "-o", "{out}/e.npy", "--threads", "1", "-q"],
    "sort": ["assign", "{in}/run", "{in}/photos", "--copy-to", "{out}/sorted", "-o",
             "{out}/t.csv", "--threads", "1", "-q"],
    "export-pth": ["export", "{in}/run", "--format", "pth", "-o", "{out}/e.pth", "-q"],
    "export-onnx": ["export", "{in}/run", "--format", "onnx", "-o", "{out}/e.onnx", "-q"],
    "import": ["import", "{in}/e.pth", "-o", "{out}/i.safetensors", "-q"],
    "report": ["report", "{in}/run", "-o", "{out}/r.html", "-q"],
    "report-cluster": ["report", "{in}/c", "-o", "{out}/r.html", "-q"],
    "pack": ["data", "pack", "{in}/photos", "-o", "{out}/s", "-q"],
    "preview": ["data", "preview", "{in}/photos", "-o", "{out}/p.png", "-q"],
    "levels": ["cluster", "{in}/x.npy", "-k", "40", "--levels", "2", "--metric", "euclidean",
               "--restarts", "1", "--polish", "2", "-o", "{out}/c", "--threads", "1", "-q"],
    "continue": ["cluster", "{in}/x.fbin", "--continue", "{in}/c", "--epochs", "1", "-o",
                 "{out}/c", "--threads", "1", "-q"],
    "assign-all": ["assign", "{in}/l", "{in}/x.npy", "-o", "{out}/labels.npy", "--second",
                   "{out}/second.npy", "--margins", "{out}/margins.npy", "--sorted",
                   "{out}/sorted.npz", "--medoids", "{out}/medoids.npy", "--threads", "1", "-q"],
    "sort-rows": ["assign", "{in}/ce", "{in}/e.npy", "--copy-to", "{out}/sorted", "-o",
                  "{out}/labels.npy", "--threads", "1", "-q"],
}

# State beyond the network and its clusters: queues, averaged encoders, prototypes, labels of
# other kinds, averaged weights, sizes that change.
METHODS = {
    "simclr": ["--projector", "16-relu-8"],
    "byol": ["--projector", "16-bn-relu-8", "--predictor", "16-bn-relu-8"],
    "mocov2": ["--projector", "16-relu-8", "--queue", "16"],
    "swav": ["--projector", "16-relu-8", "--prototypes", "6", "--queue", "16", "--queue-from", "2",
             "--recipe", "multi", "--small-views", "1", "--small-size", "8"],
    "dino": ["--projector", "16-gelu-8", "--prototypes", "8", "--ema", "0.9"],
    "secu": ["--dim", "8", "-k", "3"],
    "deepclusterv2": ["--projector", "16-relu-8", "-k", "3"],
    "coke": ["--dim", "8", "-k", "3", "--ema", "0.9", "--round", "8", "--size-schedule", "12,16"],
}
JOBS.update({"train-" + m: BASE + ["--method", m] + more for m, more in METHODS.items()})
# These continue a training that was stopped, of which a copy is in {out}/run.
RESUMED = {"resume": "train", "resume-swav": "train-swav", "resume-dino": "train-dino"}
JOBS.update({name: JOBS[first] for name, first in RESUMED.items()})
# Most calls of these are made by other jobs, too.
SIMILAR = {"levels", "continue", "assign-all", "sort-rows"}
SIMILAR |= {name for name in JOBS if name.startswith(("train-", "resume-"))}

TRAININGS = {name for name in JOBS if name.startswith(("train", "resume"))}

# Commands that read what others wrote, for flipped bits; what they print counts as an output.
READS = {
    "start": ["cluster", "{in}/x.npy", "-k", "10", "--init", "{in}/c/centers.npy", "--epochs",
              "1", "--polish", "0", "-o", "{out}/c", "--threads", "1", "-q"],
    "cluster-images": ["cluster", "{in}/e.npy", "-k", "3", "--restarts", "1", "-o", "{out}/c",
                       "--threads", "1", "-q"],
    "start-images": ["cluster", "{in}/e.npy", "-k", "3", "--init",
                     "{in}/run/centers-h0-k3.npy", "-o", "{out}/c", "--threads", "1", "-q"],
    "eval": ["eval", "cluster", "{in}/c", "--classes", "{in}/labels.npy", "-q"],
    "eval-images": ["eval", "cluster", "{in}/ce", "--classes", "{in}/run/labels-h0-k3.npy", "-q"],
    "info": ["info", "{in}/run"],
    "configured": ["train", "{in}/photos", "--config", "{in}/run/config.json", "--threads", "1",
                   "-q", "-o", "{out}/run"],
    "shards": ["embed", "{in}/run", "{in}/s-000000.tar", "-o", "{out}/e.npy", "--threads", "1",
               "-q"],
    "shards-info": ["data", "info", "{in}/s-000000.tar"],
}


def make_rows(rows, dim):
    x = hashlib.shake_256(b"rows").digest(rows * dim)
    return b"".join(struct.pack("<f", b - 127.5) for b in x)


def write_fbin(path, rows, dim):
    with open(path, "wb") as f:
        f.write(struct.pack("<II", rows, dim) + make_rows(rows, dim))


def write_npy(path, rows, dim):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, dim)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(make_rows(rows, dim))


def write_photos(folder):
    for c in range(3):
        os.makedirs("%s/class%d" % (folder, c))
        for i in range(9):
            noise = hashlib.shake_256(b"%d %d" % (c, i)).digest(20 * 20 * 3)
            pixels = bytes((v // 3 + 60 * ((j // 60 + c) % 3)) % 256
                           for j, v in enumerate(noise))
            with open("%s/class%d/%d.ppm" % (folder, c, i), "wb") as f:
                f.write(b"P6 20 20 255\n" + pixels)


class Bench:
    """Inputs and reference outputs below `work`, made once."""

    def __init__(self, coke, work):
        self.coke, self.work, self.inputs = os.path.abspath(coke), work, work + "/in"
        self.env = dict(os.environ, OMP_WAIT_POLICY="passive", OMP_NUM_THREADS="1",
                        LC_ALL="C.UTF-8")
        self.env.pop("COKE_FAULT", None)
        if not os.path.exists(work + "/ready"):
            shutil.rmtree(work, ignore_errors=True)
            os.makedirs(self.inputs)
            self.make_inputs()
            open(work + "/ready", "w").close()
        self.reference, self.volatile, self.seconds = {}, {}, {}

    def make_inputs(self):
        write_npy(self.inputs + "/x.npy", 2000, 16)
        write_fbin(self.inputs + "/x.fbin", 2000, 16)
        write_photos(self.inputs + "/photos")
        for name in ("cluster", "train", "export-pth", "assign", "pack"):
            self.must_run(JOBS[name])
        self.must_run(JOBS["embed"] + ["--features", "projection"])
        self.must_run(["cluster", "{in}/e.npy", "-k", "3", "--restarts", "1", "-o", "{in}/ce",
                       "--threads", "1", "-q"])
        self.must_run(READS["shards-info"])  # makes the index
        self.must_run([a.replace("/c", "/l") for a in JOBS["levels"]])
        for name, first in RESUMED.items():
            self.stop_training(first, self.inputs + "/" + name)

    def must_run(self, words):
        p = subprocess.run(self.fill(words, self.inputs), env=self.env, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        assert p.returncode == 0, (words, p.stdout)

    def stop_training(self, name, half):
        """Makes `half`, a training that was stopped with its checkpoints."""
        while not os.path.isdir(half):
            out = self.fresh(name)
            p = self.start(name, out)
            while p.poll() is None and not os.path.exists(out + "/run/last.safetensors"):
                time.sleep(0.01)
            p.terminate()
            if p.wait() == 75:
                shutil.copytree(out + "/run", half)

    def fill(self, words, out):
        return [self.coke] + [a.replace("{in}", self.inputs).replace("{out}", out)
                              for a in words]

    def command(self, name, out, extra=()):
        return self.fill(JOBS.get(name) or READS[name], out) + list(extra)

    def run(self, name, out, extra=(), env=None, prefix=(), timeout=300):
        p = subprocess.run(list(prefix) + self.command(name, out, extra),
                           env=dict(self.env, **(env or {})), stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=timeout)
        if name in READS:
            with open(out + "/printed", "wb") as f:
                f.write(p.stdout)
        return p.returncode, p.stdout.decode(errors="replace")

    def start(self, name, out):
        return subprocess.Popen(self.command(name, out), env=self.env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def expect(self, name):
        """Reference outputs of a job: {path: bytes}; files that differ from run to run (times)
        are volatile and only have to exist."""
        if name in RESUMED:
            first = RESUMED[name]
            self.reference[name], self.volatile[name] = self.expect(first), self.volatile[first]
            self.seconds[name] = self.seconds[first]
        if name not in self.reference:
            found = []
            for i in range(2):
                out = self.fresh(name)
                begun = time.time()
                code, text = self.run(name, out)
                self.seconds[name] = time.time() - begun
                assert code == 0, (name, text)
                found.append(read_tree(out))
                shutil.rmtree(out)
            for f in found: # the names of event files hold the time
                for path in [p for p in f if is_checkpoint(p)]:
                    del f[path]
            assert set(found[0]) == set(found[1]), (name, set(found[0]) ^ set(found[1]))
            self.reference[name] = found[0]
            self.volatile[name] = {p for p in found[0] if found[0][p] != found[1][p]}
        return self.reference[name]

    def fresh(self, name):
        """The folder for the outputs of a job, with what it continues. The same path in every run,
        because some outputs name it."""
        out = self.work + "/out"
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        if name in RESUMED:
            shutil.copytree(self.inputs + "/" + name, out + "/run")
        return out

    def wrong_files(self, name, out):
        """Files of an interrupted job that are neither whole nor absent."""
        want, wrong = self.expect(name), []
        for path, data in read_tree(out).items():
            if path in want and (path in self.volatile[name] or data == want[path]):
                continue
            if name in TRAININGS and self.is_legal_in_run(out, path):
                continue
            wrong.append(path)
        return wrong

    def is_legal_in_run(self, out, path):
        """A training leaves checkpoints and journals, all of them readable."""
        base, full = os.path.basename(path), out + "/" + path
        if base.endswith(".safetensors") or base == ".coke-link":
            return subprocess.run([self.coke, "info", full], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=self.env).returncode == 0
        if base.endswith(".jsonl"):
            lines = open(full).read().split("\n")[:-1]  # a torn last line is cut on resume
            return all(json.loads(line) is not None for line in lines)
        return base.startswith("events.")

    def differs(self, name, out):
        """How the outputs of a completed job differ from the reference."""
        want, found = self.expect(name), read_tree(out)
        found = {p: d for p, d in found.items() if not is_checkpoint(p)}
        if set(want) != set(found):
            return sorted(set(want) ^ set(found))
        return [p for p in want if p not in self.volatile[name] and want[p] != found[p]]


def is_checkpoint(path):
    """When a checkpoint by time is written depends on the clock."""
    return os.path.basename(path).startswith(("checkpoint-", "events."))


def read_tree(folder):
    found = {}
    for base, dirs, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if os.path.islink(path):
                found[os.path.relpath(path, folder)] = os.readlink(path).encode()
                continue
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found
