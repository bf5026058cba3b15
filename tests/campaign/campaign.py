"""campaign.py - disturbs coke in every way it promises to survive, for hours.

usage: campaign.py COKE WORK [PART...] [--amount F] [--seed N] [--fault LIB] [--fuzz FOLDER]
                   [--corpus FOLDER] [--build FOLDER]

Parts: kills, faults, flips, ranks, fuzz, threads, misuse; all of them by default. Each prints
one line. --amount 1 is the whole campaign, .01 one percent of it. Progress is kept in
WORK/progress.json, so that the same command continues after an interruption; WORK/failures has
what a failure left behind. docs/reliability.md describes the promises."""
import argparse
import glob
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from jobs import JOBS, RESUMED, SIMILAR, TRAININGS, Bench

KILLS, RANKS, FUZZ_SECONDS, FLIPS = 1000, 100, 7200, 2000
# COKE_LOST_SECONDS; ten times as long while MPI starts (docs/distributed.md).
LOST_SECONDS = 5
# A file below the inputs, and a command that reads it.
FLIPPED = [("c/model.safetensors", "assign"), ("c/model.safetensors", "continue"),
           ("c/labels.npy", "report-cluster"), ("c/labels.npy", "eval"),
           ("c/summary.json", "report-cluster"), ("c/checksums.xxh3", "report-cluster"),
           ("c/centers.npy", "start"), ("labels.npy", "eval"), ("labels.npy.xxh3", "eval"),
           ("l/model.safetensors", "assign-all"), ("e-images.json", "sort-rows"),
           ("e.npy", "cluster-images"), ("e.npy.xxh3", "cluster-images"), ("e.pth", "import"),
           ("run/final.safetensors", "embed"), ("run/last.safetensors", "export-pth"),
           ("run/run.json", "report"), ("run/metrics.jsonl", "report"),
           ("run/timing.jsonl", "report"), ("run/checksums.xxh3", "report"),
           ("run/metrics.jsonl", "info"), ("run/run.json", "info"),
           ("run/config.json", "configured"), ("run/labels-h0-k3.npy", "eval-images"),
           ("run/centers-h0-k3.npy", "start-images"), ("s-000000.tar", "shards"),
           ("s-000000.tar", "shards-info"), ("s-000000.tar.cokeidx", "shards"),
           ("s-classes.txt", "shards-info"), ("s-classes.txt.xxh3", "shards-info")]
# The order of fault.c.
KINDS = ("read", "write", "fsync", "rename", "mmap", "alloc", "open", "stat", "folder", "thread")
# Calls that fail in practice; fault.c must know every name under which coke imports them.
FAILING = re.compile("(p?read|p?write|readv|writev|f?truncate|f(data)?sync|rename(at2?)?|link(at)?|"
                     "symlink(at)?|mmap|mremap|[mc]alloc|realloc|aligned_alloc|posix_memalign|"
                     "strn?dup|open_memstream|v?asprintf|getline|open(at)?|creat|f(d)?open|"
                     "mkos?temp|[fl]?stat|fstatat|f?access|faccessat|realpath|mkdir(at)?|"
                     "f?opendir|readdir|scandir|glob|pthread_create)(64)?")
# Commands that leave something out and succeed, and how they must say so.
LEFT_OUT = {"report": re.compile("warning: ([0-9]+ of [0-9]+ (images|pictures) could not be read|"
                                 "no pictures: ).*(/photos/|photos: )")}


def symbols(path, which):
    """Names of dynamic symbols: -u imported, -U exported."""
    lines = subprocess.run(["nm", "-D", path], stdout=subprocess.PIPE, check=True).stdout
    found = [line.decode().split() for line in lines.splitlines()]
    return {f[-1].split("@")[0] for f in found if (f[-2] == "U") == (which == "-u")}


class Part:
    """Counts of one part, saved as it goes."""

    def __init__(self, campaign, name):
        self.all, self.name = campaign, name
        self.count = campaign.progress.setdefault(name, {"done": 0, "failed": 0, "seconds": 0})
        self.begun = time.time()

    def add(self, failure=None, done=1):
        self.count["done"] += done
        if failure:
            self.count["failed"] += 1
            self.all.keep(self.name, failure)
        self.count["seconds"] += time.time() - self.begun
        self.begun = time.time()
        self.all.save()

    def end(self, what):
        print("%s: %d %s, %d failed, %.0f s" % (self.name, self.count["done"], what,
                                                self.count["failed"], self.count["seconds"]),
              flush=True)
        return self.count["failed"] == 0


class Campaign:
    def __init__(self, args):
        self.args, self.work = args, os.path.abspath(args.work)
        self.path = self.work + "/progress.json"
        os.makedirs(self.work, exist_ok=True)
        self.progress = {}
        if os.path.exists(self.path):
            with open(self.path) as f:
                self.progress = json.load(f)
        self.bench = Bench(args.coke, self.work + "/bench")

    def save(self):
        with open(self.path + ".new", "w") as f:
            json.dump(self.progress, f, indent=1)
        os.rename(self.path + ".new", self.path)

    def keep(self, part, text):
        """What failed, with the files that it left."""
        folder = "%s/failures/%s-%d" % (self.work, part, self.progress[part]["failed"])
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if os.path.isdir(self.bench.work + "/out"):
            shutil.copytree(self.bench.work + "/out", folder + "/out", symlinks=True)
        with open(folder + "/what.txt", "w") as f:
            f.write(text + "\n")
        print("%s: %s (%s)" % (part, text, folder), file=sys.stderr, flush=True)

    def amount(self, n):
        return max(1, int(n * self.args.amount))

    def rng(self, *key):
        return random.Random("%d %s" % (self.args.seed, key))

    # ---- kills ----

    def kills(self):
        part = Part(self, "kills")
        while part.count["done"] < self.amount(KILLS):
            n = part.count["done"]
            part.add(self.kill_once(sorted(JOBS)[n % len(JOBS)], self.rng("kill", n)))
        return part.end("SIGKILLs")

    def kill_once(self, name, rng):
        b = self.bench
        b.expect(name)
        out, times = b.fresh(name), rng.randint(1, 4) if name in TRAININGS else 1
        for _ in range(times):
            p = b.start(name, out)
            time.sleep(b.seconds[name] * rng.uniform(0, 1.1))
            p.send_signal(signal.SIGKILL)
            p.wait()
            # A complete file that replaces another has this name between link and rename; the next
            # run removes it, or differs() finds it.
            wrong = [f for f in b.wrong_files(name, out)
                     if not re.fullmatch(r"\.coke-[0-9a-f]+\.tmp", os.path.basename(f))]
            if wrong:
                return "%s: neither whole nor absent after SIGKILL: %s" % (name, wrong)
        # A training continues; other commands replace what they had completed, but for folders of
        # sorted images, which have to be new.
        shutil.rmtree(out + "/sorted", ignore_errors=True)
        code, text = b.run(name, out, () if name in TRAININGS else ("--force",))
        if code:
            return "%s: exit code %d after SIGKILL: %s" % (name, code, text)
        differs = b.differs(name, out)
        return "%s: other outputs after SIGKILL: %s" % (name, differs) if differs else None

    # ---- failing calls ----

    def faults(self):
        part = Part(self, "faults")
        self.check_reach()
        state = part.count.setdefault("next", {})
        for name in sorted(JOBS):
            if name in SIMILAR and self.args.amount < 0.1:
                continue  # for the sake of time
            counts = self.count_calls(name)
            for kind in KINDS:
                key, calls = name + " " + kind, self.choose_calls(name, kind, counts[kind])
                while state.get(key, 0) < len(calls):
                    failure = self.fault_once(name, kind, calls[state.get(key, 0)])
                    state[key] = state.get(key, 0) + 1
                    part.add(failure)
        return part.end("failing calls")

    def check_reach(self):
        library = os.path.dirname(os.path.abspath(self.args.coke)) + "/libcoke.so"
        wanted = symbols(self.args.coke, "-u") | symbols(library, "-u")
        missed = {w for w in wanted if FAILING.fullmatch(w)} - symbols(self.args.fault, "-U")
        assert not missed, "fault.c does not reach " + ", ".join(sorted(missed))

    def choose_calls(self, name, kind, count):
        """Which calls fail: all of them, or a sample with a few of every kind."""
        n = min(count, max(2, self.amount(count)))
        return sorted(self.rng(name, kind).sample(range(1, count + 1), n))

    def count_calls(self, name):
        counts = self.work + "/counts"
        self.bench.expect(name)
        out = self.bench.fresh(name)
        code, text = self.bench.run(name, out, env={"LD_PRELOAD": self.args.fault,
                                                    "COKE_FAULT_COUNTS": counts})
        assert code == 0, (name, text)
        with open(counts, "rb") as f:
            return dict(zip(KINDS, struct.unpack("%dq" % len(KINDS), f.read())))

    def fault_once(self, name, kind, n):
        b, what = self.bench, "%s, %s call %d fails" % (name, kind, n)
        for last in (False, True):  # once more, because the machine may have paused it
            out = b.fresh(name)
            try:
                code, text = b.run(name, out, env={"LD_PRELOAD": self.args.fault,
                                                   "COKE_FAULT": "%s:%d" % (kind, n)},
                                   timeout=120)
                break
            except subprocess.TimeoutExpired:
                if last:
                    return what + ": hangs"
        if code < 0 or code > 7 and code != 75:
            return "%s: exit code %d: %s" % (what, code, text[-300:])
        if code == 0:
            return self.judge_success(name, out, what, text)
        if not text.strip():
            return what + ": exit code %d without a message" % code
        wrong = b.wrong_files(name, out)
        if wrong:
            return "%s: neither whole nor absent: %s" % (what, wrong)
        if name not in TRAININGS:
            return None
        code, text = b.run(name, out)  # continues, or begins anew
        if code:
            return "%s: then exit code %d: %s" % (what, code, text[-300:])
        return self.judge_success(name, out, what + ", continued", text)

    def judge_success(self, name, out, what, text):
        differs = self.bench.differs(name, out)
        if not differs or name in LEFT_OUT and LEFT_OUT[name].search(text):
            return None
        return "%s: succeeds with other outputs: %s: %s" % (what, differs, text[-300:])

    # ---- flipped bits ----

    def flips(self):
        part = Part(self, "flips")
        files = self.flip_files()
        while part.count["done"] < self.amount(FLIPS):
            n = part.count["done"]
            part.add(self.flip_once(files[n % len(files)], self.rng("flip", n)))
        return part.end("flipped bits")

    def flip_files(self):
        """(file below the inputs, the command that reads it): all files that coke writes and reads,
        but event files, whose records have a CRC, and empty ones."""
        found = list(FLIPPED)
        for job in RESUMED:
            half = "%s/%s/" % (self.bench.inputs, job)
            found += [(job + "/" + n, job) for n in sorted(os.listdir(half))
                      if os.path.getsize(half + n) and not n.startswith("events.")]
        return found

    def flip_once(self, target, rng):
        path, job = target
        b = self.bench
        b.expect(job)
        out = b.fresh(job)
        if job in RESUMED:
            return self.read_flipped(out + "/run" + path[len(job):], job, out, rng)
        saved = b.work + "/saved"
        shutil.copy2(b.inputs + "/" + path, saved)
        try:
            return self.read_flipped(b.inputs + "/" + path, job, out, rng)
        finally:
            shutil.copy2(saved, b.inputs + "/" + path)

    def read_flipped(self, path, job, out, rng):
        b = self.bench
        with open(path, "rb") as f:
            data = bytearray(f.read())
        # Headers are a small part of a file, and most of what can go wrong.
        end = min(len(data), 8192) if rng.random() < 0.5 else len(data)
        bit = rng.randrange(8 * end)
        data[bit // 8] ^= 1 << bit % 8
        times = os.stat(path)
        with open(path, "wb") as f:
            f.write(data)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # as a failing disk would
        what = "%s, bit %d flipped, read by %s" % (os.path.basename(path), bit, job)
        code, text = b.run(job, out)
        if code < 0 or code > 7:
            return "%s: exit code %d" % (what, code)
        told = "warning: " in text or "checksum differs" in text
        if code == 0 and not told and b.differs(job, out):
            return "%s: accepted, with other outputs: %s" % (what, b.differs(job, out))
        return None

    # ---- lost processes ----

    def ranks(self):
        part = Part(self, "ranks")
        if not shutil.which("mpirun"):
            print("ranks: no mpirun")
            return True
        while part.count["done"] < self.amount(RANKS):
            n = part.count["done"]
            part.add(self.lose_rank(("train", "cluster")[n % 2], self.rng("rank", n)))
        return part.end("lost processes")

    def lose_rank(self, name, rng):
        b, out = self.bench, self.bench.fresh(name)
        env = dict(b.env, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   COKE_LOST_SECONDS=str(LOST_SECONDS))
        prefix = ["mpirun", "--oversubscribe", "--enable-recovery", "-n", "3"]
        p = subprocess.Popen(prefix + b.command(name, out), env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        while p.poll() is None and len(self.ranks_of(p.pid)) < 3:
            time.sleep(0.02)
        time.sleep(rng.choice((0.5, 3)) * rng.random())  # half of them while MPI starts
        mine = self.ranks_of(p.pid)
        try:
            if mine:
                os.kill(rng.choice(mine), signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended by itself
        left = self.wait_for_ranks(p, LOST_SECONDS * 10 + 60)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        p.kill()  # it may wait for ever
        text = p.communicate()[0].decode(errors="replace")[-1000:]
        if left:
            return "%s: %d survivors did not end in time: %s" % (name, len(left), text)
        wrong = [w for w in b.wrong_files(name, out) if name != "train"]
        return "%s: neither whole nor absent: %s" % (name, wrong) if wrong else None

    def wait_for_ranks(self, launcher, seconds):
        """Those that still run then. In small steps, which do not count while this program is
        stopped."""
        for _ in range(seconds * 5):
            if launcher.poll() is not None or not self.ranks_of(launcher.pid):
                return []
            time.sleep(0.2)
        return self.ranks_of(launcher.pid)

    @staticmethod
    def ranks_of(launcher):
        """Not those that have ended, which the launcher may be slow to ask."""
        found = subprocess.run(["pgrep", "-P", str(launcher), "-x", "-r", "D,R,S,T", "coke"],
                               stdout=subprocess.PIPE).stdout.split()
        return [int(pid) for pid in found]

    # ---- fuzzing ----

    def fuzz(self):
        part = Part(self, "fuzz")
        state = part.count.setdefault("targets", {})
        seconds = self.amount(FUZZ_SECONDS)
        for program in sorted(glob.glob((self.args.fuzz or "") + "/fuzz_*")):
            name = os.path.basename(program)[5:]
            if not os.access(program, os.X_OK) or state.get(name):
                continue
            part.add(self.fuzz_one(program, name, seconds))
            state[name] = 1
            self.save()
        return part.end("parsers fuzzed for %d s each" % seconds)

    def fuzz_one(self, program, name, seconds):
        grown, small = ("%s/corpus/%s%s" % (self.work, name, end) for end in ("", ".small"))
        kept = "%s/%s.tar.gz" % (self.args.corpus, name)
        if not os.path.isdir(grown):
            os.makedirs(grown)
            if os.path.exists(kept):
                subprocess.run(["tar", "-C", grown, "-xzf", kept], check=True)
        words = self.args.corpus + "/../dict/" + name + ".dict"
        command = [program, "-max_total_time=%d" % seconds, "-timeout=10", "-rss_limit_mb=2048",
                   "-max_len=65536", "-artifact_prefix=%s/" % self.work]
        if os.path.exists(words):
            command.append("-dict=" + words)
        text = self.run_fuzzer(command, grown)
        if text and not self.is_repeated(command, text):  # the machine had stopped
            text = self.run_fuzzer(command, grown)
        if text:
            return "%s: %s" % (name, text[-1000:])
        # The smallest inputs that cover the same code: for tests/fuzz/corpus.
        shutil.rmtree(small, ignore_errors=True)
        os.makedirs(small)
        subprocess.run([program, "-merge=1", "-max_len=4096", small, grown], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run("tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C '%s' "
                       "-cf - . | gzip -n9 > '%s.tar.gz'" % (small, grown), shell=True,
                       check=True)
        return None

    @staticmethod
    def run_fuzzer(command, what):
        """What it prints about a finding, or None."""
        p = subprocess.run(command + [what], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return p.stdout.decode(errors="replace") if p.returncode else None

    def is_repeated(self, command, text):
        found = re.search("Test unit written to (.*)", text)
        return not found or self.run_fuzzer(command, found.group(1)) is not None

    # ---- programs of the build ----

    def threads(self):
        return self.run_tests("threads", "^tree/threads$")

    def misuse(self):
        return self.run_tests("misuse", "^api/(misuse|misuse_values|null|failures)$")

    def run_tests(self, name, pattern):
        part = Part(self, name)
        p = subprocess.run(["ctest", "--test-dir", self.args.build, "-C", "long", "-R", pattern,
                            "--no-tests=error", "--output-on-failure"], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        part.add(p.stdout.decode(errors="replace")[-2000:] if p.returncode else None)
        return part.end("runs of the test")


PARTS = ("kills", "faults", "flips", "ranks", "fuzz", "threads", "misuse")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser()
    p.add_argument("coke")
    p.add_argument("work")
    p.add_argument("part", nargs="*", default=PARTS)
    p.add_argument("--amount", type=float, default=1)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--fault", type=os.path.abspath)
    p.add_argument("--fuzz")
    p.add_argument("--corpus", default=here + "/../fuzz/corpus")
    p.add_argument("--build", default="build")
    campaign = Campaign(p.parse_args())
    good = [getattr(campaign, part)() for part in campaign.args.part]
    sys.exit(0 if all(good) else 1)


main()
