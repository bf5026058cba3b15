"""test_readme.py - every command that the documentation shows works as it stands.

usage: test_readme.py COKE FILE.md ...     exit code 77: no numpy or Pillow here

Lines of ```sh blocks that begin with coke (or pipe into it) are run in one folder, in their order,
on small data of the names they use; the environment makes trainings small. What a command writes
is removed before it runs, because documents show several commands that write the same. Lines that
begin with make, scripts/ or bench/ are run by others."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from PIL import Image
except ImportError:
    print("numpy or Pillow is not installed: skipped")
    sys.exit(77)

# Smaller than any default or preset; what the command line says stays.
SMALL = {"COKE_WIDTH": "0.0625", "COKE_SIZE": "16", "COKE_EPOCHS": "3", "COKE_WARMUP": "1", "COKE_BATCH": "50",
         "COKE_RATE": "0.01"}
ELSEWHERE = ("make", "scripts/", "bench/")
MAKE_VECTORS = """#!%s
import sys, numpy as np
np.save(sys.stdout.buffer, np.random.RandomState(1).randn(3000, 16).astype("f4"))
""" % sys.executable


def make_cifar(folder, random):
    os.makedirs(folder)
    for name in ["data_batch_%d.bin" % i for i in range(1, 6)] + ["test_batch.bin"]:
        rows = random.randint(0, 256, (60, 3073)).astype(np.uint8)
        rows[:, 0] = np.arange(60) % 10
        rows.tofile(os.path.join(folder, name))


def make_torch(path):
    """Weights as torchvision saves them, if PyTorch is here; else none."""
    try:
        import torch
        import torchvision
    except ImportError:
        return False
    torch.save(torchvision.models.resnet18().state_dict(), path)
    return True


def make_data(random):
    for name, n in (("x.npy", 3000), ("new.npy", 500), ("a.npy", 1500), ("b.npy", 1500)):
        np.save(name, random.randn(n, 16).astype("f4"))
    np.save("w.npy", random.rand(3000).astype("f4"))
    with open("sizes.txt", "w") as f:
        f.write("20\n" * 50)
    for i in range(240):
        folder = os.path.join("photos", "abc"[i % 3])
        os.makedirs(folder, exist_ok=True)
        pixels = random.randint(0, 256, (20, 24, 3)).astype(np.uint8)
        Image.fromarray(pixels).save(os.path.join(folder, "%d.png" % i))
    os.makedirs("shards")
    os.makedirs("bin")
    with open("bin/make-vectors", "w") as f:
        f.write(MAKE_VECTORS)
    os.chmod("bin/make-vectors", 0o755)
    make_cifar("data/cifar10", random)


def commands(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M):
        for line in block.splitlines():
            line = re.sub(r"\s+#.*$|\t.*$", "", line).strip()
            if line and not line.startswith("#"):
                yield line


def clear_outputs(line):
    for what in re.findall(r"(?:-o|--copy-to|--symlink|--scores|>)\s+(\S+)", line):
        shutil.rmtree(what, ignore_errors=True)
        if os.path.isfile(what):
            os.remove(what)
    match = re.match(r"coke export .*--format (\w+)", line)
    for name in ["encoder." + match.group(1)] if match else []:
        if os.path.exists(name):
            os.remove(name)


def main():
    coke, files = os.path.abspath(sys.argv[1]), [os.path.abspath(f) for f in sys.argv[2:]]
    ran, failed, elsewhere = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_data(np.random.RandomState(0))
        has_torch = make_torch("resnet50.pth")
        env = dict(os.environ, **SMALL)
        env["PATH"] = "%s:%s/bin:%s" % (os.path.dirname(coke), folder, env["PATH"])
        for line in (c for f in files for c in commands(f)):
            if line.startswith(ELSEWHERE) and not line.startswith("make-vectors"):
                elsewhere += 1
                continue
            if "resnet50.pth" in line and not has_torch:
                print("skip  %s: no torchvision" % line)
                continue
            line = line.replace("build/coke", "coke")
            if line.startswith("coke demo") and "vectors" not in line:
                line += " -n 200 --epochs 4"
            line = line.replace("synthetic:n=3000", "synthetic:n=300")
            if re.search(r"--method (vicreg|emp|swav)", line):
                line += " --projector 64-bn-relu-32"
            clear_outputs(line)
            done = subprocess.run(["bash", "-c", line], env=env, capture_output=True, text=True)
            ran += 1
            failed += done.returncode != 0
            print("%s %s" % ("ok   " if done.returncode == 0 else "FAIL ", line))
            if done.returncode:
                print(done.stdout[-500:], done.stderr[-1500:])
    print("%d commands, %d failed, %d are run by others" % (ran, failed, elsewhere))
    return 1 if failed or ran < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
