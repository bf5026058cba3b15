"""test_faults.py - the n-th allocation or system call of libcoke fails below Python: an exception or
the right result, never a crash, and the next call works.

Needs LD_PRELOAD=coke_fault.so (tests/campaign/fault.c). COKE_ALL_FAULTS=1 tries every n, else some."""
import ctypes
import os
import unittest

from python_case import Case, main, np, rows

import coke

library = ctypes.CDLL(None)
# The order of fault.c.
KINDS = ("read", "write", "fsync", "rename", "mmap", "alloc", "open", "stat", "folder", "thread")
FEW = 40  # calls of each kind that are tried


def fail(what=None):
    """Lets libcoke's call fail that `what` names; returns the number of calls until now by kind."""
    before = (ctypes.c_long * len(KINDS))()
    library.coke_fault_again(what and what.encode(), before)
    return dict(zip(KINDS, before))


def arrays():
    m = coke.KMeans(5, ratio=.8, n_jobs=1).fit(rows(200))
    return np.concatenate([m.labels_, m.predict(rows(50, seed=1)),
                           m.predict(rows(50, seed=1), constrained=True)])


def online():
    m = coke.KMeans(5, n_jobs=1)
    for batch in np.array_split(rows(200), 2):
        m.partial_fit(batch)
    return m.labels_


def files():
    coke.cluster("x.npy", 5, n_jobs=1).write("out", force=True)
    return coke.load("out").predict("x.npy", constrained=True)


@unittest.skipUnless(hasattr(library, "coke_fault_again"), "coke_fault.so is not loaded")
class Faults(Case):
    def setUp(self):
        super().setUp()
        np.save("x.npy", rows(200))

    def fail_each(self, job, *kinds):
        job()  # tables are read once
        fail()
        expected = job()
        calls = fail()
        failures = 0
        for kind in kinds:
            self.assertGreater(calls[kind], 0, kind)
            every = 1 if os.environ.get("COKE_ALL_FAULTS") else max(1, calls[kind] // FEW)
            failures += sum(not self.works("%s:%d" % (kind, n), job, expected)
                            for n in range(1, calls[kind] + 1, every))
        self.assertGreater(failures, 0)
        np.testing.assert_array_equal(job(), expected)

    def works(self, what, job, expected):
        """Whether the job succeeds while a call fails."""
        fail(what)
        try:
            got = job()
        except (coke.Error, MemoryError) as error:
            self.assertTrue(str(error), what)
            return False
        finally:
            fail()
        np.testing.assert_array_equal(got, expected, what)
        return True

    def test_arrays(self):
        self.fail_each(arrays, "alloc")

    def test_batches(self):
        self.fail_each(online, "alloc")

    def test_files(self):
        self.fail_each(files, "alloc", "write", "fsync", "rename")


if __name__ == "__main__":
    main()
