"""The same rows in every format that `coke cluster` reads give the same labels.

usage: test_row_formats.py COKE BUILD

numpy and h5py write most of them. The rows are whole numbers from 0 to 100, which every type holds
exactly; those of bool are compared with the same numbers in float32. Without h5py, or where BUILD
has no libcoke-hdf5.so, HDF5 is left out."""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

try:
    import h5py
except ImportError:
    h5py = None

COKE = sys.argv[1]
HDF5 = h5py and os.path.exists(os.path.join(sys.argv[2], "libcoke-hdf5.so"))
N, DIM, K = 700, 12, 5
failures = []


def make_rows():
    g = np.random.default_rng(1)
    centers = g.integers(0, 60, (K, DIM))
    return (centers[g.integers(0, K, N)] + g.integers(0, 40, (N, DIM))).astype("f4")


def run(*args, stdin=None):
    return subprocess.run([COKE, *args], capture_output=True, text=stdin is None, input=stdin,
                          timeout=300, check=False)


def labels(*inputs, stdin=None):
    out = tempfile.mkdtemp(dir=".")
    done = run("cluster", *inputs, "-k", str(K), "-o", out + "/o", "--threads", "1", stdin=stdin)
    if done.returncode:
        failures.append("%s: %s" % (inputs, done.stderr))
        return None, ""
    return np.load(out + "/o/labels.npy"), done.stderr


def check(expected, *inputs, note=None, stdin=None):
    """note: what the program says about a temporary copy; None: it makes none."""
    got, said = labels(*inputs, stdin=stdin)
    if got is not None and not np.array_equal(got, expected):
        failures.append("%s: other labels" % (inputs,))
    said = said if isinstance(said, str) else said.decode()
    if note is None and "spooled" in said:
        failures.append("%s: spooled: %s" % (inputs, said))
    if got is not None and note and note not in said:
        failures.append("%s: no '%s' in '%s'" % (inputs, note, said))


def info(path, *words):
    done = run("info", path)
    for word in words:
        if word not in done.stdout:
            failures.append("info %s: no '%s' in %s%s" % (path, word, done.stdout, done.stderr))
    done = run("info", path, "--json")
    if not done.returncode:
        json.loads(done.stdout)


def write_fbin(path, x, n=None):
    with open(path, "wb") as f:
        f.write(struct.pack("<II", len(x) if n is None else n, x.shape[1]) + x.tobytes())


def write_vecs(path, x):
    with open(path, "wb") as f:
        for row in x:
            f.write(struct.pack("<i", len(row)) + row.tobytes())


def write_safetensors(path, arrays, names):
    header, at = {}, 0
    for name, x in arrays.items():
        header[name] = {"dtype": names[name], "shape": list(x.shape),
                        "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for x in arrays.values():
            f.write(x.tobytes())


def bfloat16(x):
    return (x.view("u4") >> 16).astype("u2")  # exact for whole numbers below 256


def test_npy(x, expected):
    for t in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
        np.save("x-%s.npy" % t, x.astype(t))
        check(expected, "x-%s.npy" % t)
        info("x-%s.npy" % t, t, "700 x 12", "norms")
        np.save("f-%s.npy" % t, np.asfortranarray(x.astype(t)))
        check(expected, "f-%s.npy" % t, note="columns come first")
        info("f-%s.npy" % t, "Fortran", "700 x 12", "norms")
    with open("f-i2.npy", "rb") as f:
        check(expected, "-", stdin=f.read(), note="stdin")
    bits = x > 50
    np.save("bits.npy", bits)
    np.save("bits-f4.npy", bits.astype("f4"))
    check(labels("bits-f4.npy", "--bad", "skip")[0], "bits.npy", "--bad", "skip")


def test_bins(x, expected):
    for ending, t in (("fbin", "f4"), ("f16bin", "f2"), ("u8bin", "u1"), ("i8bin", "i1")):
        write_fbin("x." + ending, x.astype(t))
        check(expected, "x." + ending)
        info("x." + ending, ending, "700 x 12", "norms")
    write_vecs("x.fvecs", x)
    write_vecs("x.bvecs", x.astype("u1"))
    check(expected, "x.fvecs")
    check(expected, "x.bvecs")


def test_raw(x, expected):
    names = {"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "i16": "i2", "i32": "i4",
             "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8"}
    for name, t in names.items():
        x.astype(t).tofile("x.dat")
        check(expected, "x.dat", "--raw", "%s:%d" % (name, DIM))
    bfloat16(x).tofile("x.dat")
    check(expected, "x.dat", "--raw", "bf16:%d" % DIM)
    write_fbin("cut.fbin", x, n=10**6)
    check(expected, "cut.fbin", "--raw", "f32:%d:8" % DIM)
    check(expected, "-", "--raw", "f32:%d" % DIM, stdin=x.tobytes(), note="stdin")
    done = run("cluster", "cut.fbin", "-k", "5")
    if "--raw f32:12:8 reads all" not in done.stderr or done.returncode != 3:
        failures.append("cut.fbin: " + done.stderr)


def test_shards(x, expected):
    os.mkdir("shards")
    np.save("shards/a.npy", x[:100])
    write_fbin("shards/a10.f16bin", x[100:101].astype("f2"))
    np.savez_compressed("shards/a9.npz", x[101:350].astype("u1"))
    np.save("shards/b.npy", np.asfortranarray(x[350:].astype("i8")))
    with open("shards/README", "w", encoding="utf-8") as f:
        f.write("not rows\n")
    with open("shards/.hidden.npy", "w", encoding="utf-8") as f:
        f.write("not rows\n")
    order = sorted(["a.npy", "a10.f16bin", "a9.npz", "b.npy"])
    assert order == ["a.npy", "a10.f16bin", "a9.npz", "b.npy"]
    check(expected, "shards", note="1 other file in the folder was not read")
    check(expected, "shards/", note="spooled")
    check(expected, "shards/[ab]*", note="spooled")
    check(expected, "shards/a.npy", "shards/a[0-9]*", "shards/b.np?", note="spooled")
    np.save("odd[1].npy", x)
    check(expected, "odd[1].npy")


def test_npz(x, expected):
    np.savez("one.npz", x)
    np.savez_compressed("packed.npz", x)
    np.savez("two.npz", train=x, test=x[:3], flat=x[0])
    np.savez_compressed("columns.npz", train=np.asfortranarray(x.astype("f8")), test=x[:3])
    check(expected, "one.npz")
    check(expected, "packed.npz", note="compressed or in pieces")
    check(expected, "two.npz:train")
    check(expected, "two.npz:train.npy")
    check(expected, "columns.npz:train", note="columns come first")
    info("two.npz", "arrays     3", "train", "flat", "700 x 12")
    info("columns.npz:train", "f8", "700 x 12")


def test_safetensors(x, expected):
    write_safetensors("x.safetensors", {"emb": x.astype("f2")}, {"emb": "F16"})
    write_safetensors("y.safetensors", {"a": x[:2], "b": bfloat16(x), "c": x[0]},
                      {"a": "F32", "b": "BF16", "c": "F32"})
    check(expected, "x.safetensors")
    check(expected, "y.safetensors:b")
    info("y.safetensors:b", "700 x 12", "norms")


def test_hdf5_claims(x):
    """Rows that were never written cost neither time nor disk."""
    many = (2_000_000_000, DIM)
    with h5py.File("claims.h5", "w") as f:
        f.create_dataset("chunks", many, "f4", chunks=(1000, DIM))
        f.create_dataset("late", many, "f4")
        f.create_dataset("begun", (100 * N, DIM), "f4", chunks=(N, DIM))[:N] = x
        f.create_dataset("most", (N + 100, DIM), "f4", chunks=(100, DIM))[:N] = x
    for name in ("chunks", "late"):
        refused("claims.h5:" + name, 3, "2000000000 x 12 elements need 96000000000 bytes, but only "
                "0 were ever written")
    refused("claims.h5:begun", 3, "need 3360000 bytes, but only 33600 were ever written")
    assert labels("claims.h5:most", "--bad", "skip")[0].shape == (N + 100,)
    with h5py.File("sparse.h5", "w") as f:  # holes of a virtual data set, as large as any disk
        layout = h5py.VirtualLayout((1 << 50, DIM), "f4")
        layout[:N] = h5py.VirtualSource("claims.h5", "most", (N + 100, DIM))[:N]
        f.create_virtual_dataset("x", layout)
    refused("sparse.h5:x", 4, "GB would have to be spooled to")
    with h5py.File("twice.h5", "w") as f:  # zeros, deflated twice
        kind = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        kind.set_chunk((1 << 20, DIM))
        kind.set_deflate(9)
        kind.set_filter(h5py.h5z.FILTER_DEFLATE, 0, (9,))
        space = h5py.h5s.create_simple((1 << 20, DIM))
        h5py.h5d.create(f.id, b"x", h5py.h5t.IEEE_F32LE, space, kind)
        f["x"][:] = 0
    refused("twice.h5:x", 3, "more than 2000 times as many")


def test_hdf5(x, expected):
    with h5py.File("x.h5", "w") as f:
        for t in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
            f[t] = x.astype(t)
        f["big"] = x.astype(">f4")
        f["bits"] = x > 50
        f["names"] = ["a", "b"]
        f["scalar"] = 3
        f.create_dataset("deep/gzip", data=x, chunks=(64, 5), compression="gzip", shuffle=True)
        f.create_dataset("late", data=x.astype("f2"), chunks=(1, DIM), maxshape=(None, DIM))
    for t in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split():
        check(expected, "x.h5:/" + t)
    check(expected, "x.h5:f4")
    for name in ("big", "deep/gzip", "/deep/gzip", "late"):
        check(expected, "x.h5:" + name, note="compressed or in pieces")
    check(labels("bits-f4.npy", "--bad", "skip")[0], "x.h5:bits", "--bad", "skip")
    with h5py.File("only.hdf5", "w", userblock_size=512) as f:
        f["group/train"] = x
        f["ids"] = np.arange(N)
    check(expected, "only.hdf5")
    check(expected, "only.hdf?:/group/train")
    info("x.h5", "data sets  17", "deep/gzip", "700 x 12", "other")
    info("x.h5:/late", "f2", "700 x 12")
    with open("x.h5", "rb") as f:
        whole = f.read()
    with open("cut.h5", "wb") as f:
        f.write(whole[:len(whole) // 2])
    refused("cut.h5:f4", 3, "cut.h5:f4: libhdf5 cannot open it")
    refused("x.h5:none", 3, "x.h5:none: no such data set in it")
    refused("x.h5:names", 3, "the data set is not of floats or integers")
    refused("x.h5:scalar", 3, "0 dimensions")
    refused("x.h5", 3, "15 data sets: /big")
    refused("x.h5:f4", 1, "COKE_HDF5 names another place", {"COKE_HDF5": "/nowhere.so"})


def refused(path, code, words, env=None):
    done = subprocess.run([COKE, "cluster", path, "-k", "5", "-o", "never"], check=False,
                          capture_output=True, text=True, env={**os.environ, **(env or {})})
    if done.returncode != code or words not in done.stderr or os.path.exists("never"):
        failures.append("%s: exit code %d: %s" % (path, done.returncode, done.stderr))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        x = make_rows()
        np.save("x.npy", x)
        expected = labels("x.npy")[0]
        for test in (test_npy, test_bins, test_raw, test_shards, test_npz, test_safetensors):
            test(x, expected)
        if HDF5:
            test_hdf5(x, expected)
            test_hdf5_claims(x)
        os.chdir("/")
    for line in failures:
        print(line)
    if not HDF5:
        print("HDF5 was not tested: h5py or libcoke-hdf5.so is missing")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
