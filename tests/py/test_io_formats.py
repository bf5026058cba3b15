"""numpy's side of tests/unit/io/test_numpy_exchange.c, which runs it.

make DIR   writes arrays for the C test to read
check DIR  reads the arrays that the C test wrote
"""

import os
import sys

import numpy as np
from numpy.lib import format as npy

N, DIM = 5, 3
VERSIONS = ((1, 0), (2, 0), (3, 0))
LIST_TYPES = "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1"


def values():
    i = np.arange(N * DIM)
    return i % 7 + i % 3 * 10


def make(folder):
    os.chdir(folder)
    x = values()
    for dtype in "f4 f2 f8 u1 i1".split():
        for version in VERSIONS:
            with open(f"rows-{dtype}-{version[0]}.npy", "wb") as f:
                npy.write_array(f, x.reshape(N, DIM).astype(dtype), version=version)
    for dtype in LIST_TYPES.split():
        np.save(f"list-{dtype}.npy", x[:N].astype("?" if dtype == "b1" else dtype))
    rows = x.reshape(N, DIM).astype("f4")
    bad = {
        "big": rows.astype(">f4"),
        "object": rows.astype(object),
        "struct": np.zeros((2, 2), [("a", "f4"), ("b", "i4")]),
        "complex": rows.astype("c8"),
        "text": np.array([["abc"]]),
        "3d": rows.reshape(1, N, DIM),
        "scalar": np.float32(1),
    }
    for name, array in bad.items():
        np.save(f"bad-{name}.npy", array, allow_pickle=True)


def check(folder):
    os.chdir(folder)
    x = values()
    expected = {
        "f4": x.reshape(N, DIM).astype("<f4"),
        "i4": (x - 3).astype("<i4"),
        "empty": np.zeros(0, "<i4"),
        "wide": x.reshape(1, 1, 1, 1, 1, 1, N, DIM).astype("<f4"),
    }
    for name, array in expected.items():
        got = np.load(f"ours-{name}.npy")
        assert got.dtype == array.dtype and got.shape == array.shape, name
        assert np.array_equal(got, array), name
        assert np.load(f"ours-{name}.npy", mmap_mode="r").offset % 64 == 0, name


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in ("make", "check"):
        {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
    else:
        print(__doc__)
