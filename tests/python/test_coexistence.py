"""test_coexistence.py - coke beside torch, scikit-learn and faiss in one process, in any order of
imports, in forked children and in joblib's processes: the same results, and no further OpenMP
runtime of a build without networks.

COKE_ALL_ORDERS=1 tries all orders of all of them that are installed, which takes minutes."""
import itertools
import os
import subprocess
import unittest

from python_case import Case, has, main

from coke import _library

OTHERS = [name for name in ("torch", "sklearn.cluster", "faiss") if has(name)]
WORK = """
import numpy as np
x = np.random.RandomState(0).randn(4000, 16).astype("f4")
def use_torch():
    import torch
    torch.mm(torch.from_numpy(x), torch.from_numpy(x).T).sum()
def use_sklearn():
    from sklearn.cluster import KMeans
    KMeans(4, n_init=1, random_state=0).fit(x)
def use_faiss():
    import faiss
    faiss.Kmeans(16, 4, niter=2).train(x)
def use_coke():
    import coke
    return hash(coke.cluster(x, 20, epochs=2, n_jobs=2).labels.tobytes())
%s
import coke, multiprocessing
here = use_coke()
with multiprocessing.get_context("fork").Pool(1) as pool:
    assert pool.apply(use_coke) == here
print("fine", here)
"""
LOKY = """
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits
import coke
x = np.random.RandomState(0).randn(4000, 16).astype("f4")
def labels(jobs):
    import coke
    return coke.cluster(x, 20, epochs=2, n_jobs=jobs).labels
here = labels(2)
for other in Parallel(n_jobs=2, backend="loky")(delayed(labels)(jobs) for jobs in (1, 2)):
    np.testing.assert_array_equal(other, here)
for other in Parallel(n_jobs=2, backend="threading")(delayed(labels)(None) for _ in range(4)):
    np.testing.assert_array_equal(other, here)
with threadpool_limits(1):
    np.testing.assert_array_equal(labels(None), here)
print("fine")
"""


def orders():
    """All, or two in which coke is the first and the last."""
    if os.environ.get("COKE_ALL_ORDERS"):
        return list(itertools.permutations(["coke"] + OTHERS))
    return [["coke"] + OTHERS[:2], OTHERS[:2] + ["coke"]]


@unittest.skipUnless(OTHERS, "neither torch nor scikit-learn nor faiss is installed")
class Orders(Case):
    def test_any_order_of_imports(self):
        seen = set()
        for order in orders():
            calls = "\n".join("use_%s()" % name.split(".")[0] for name in order)
            code, out = self.python(WORK % calls, PYTHONHASHSEED="0")
            self.assertEqual((code, out.split()[:1]), (0, ["fine"]), (order, out))
            seen.add(out)
        self.assertEqual(len(seen), 1)

    def elf(self, flag):
        try:
            done = subprocess.run(["readelf", flag, _library.find_library()], capture_output=True,
                                  text=True)
        except FileNotFoundError:
            self.skipTest("readelf is not installed")
        self.assertTrue(done.stdout)
        return done.stdout

    def test_the_library_needs_no_static_tls(self):
        """Programs have little room for it, and others take it before us."""
        self.assertNotIn("STATIC_TLS", self.elf("-d"))

    def test_the_library_needs_no_new_openmp(self):
        """torch's wheels bring a libgomp of OpenMP 4.5; ours is that one after `import torch`."""
        self.assertNotIn("OMP_5", self.elf("-V"))

    @unittest.skipUnless(has("joblib") and has("threadpoolctl"), "joblib is not installed")
    def test_processes_and_threads_of_joblib(self):
        code, out = self.python(LOKY)
        self.assertEqual((code, out.split()), (0, ["fine"]), out)

    @unittest.skipUnless(has("threadpoolctl"), "threadpoolctl is not installed")
    def test_a_build_without_networks_brings_no_runtime(self):
        if _library.lib.has("train_run"):
            self.skipTest("this is a full build, whose runtime is that of oneDNN")
        code, out = self.python("import numpy, threadpoolctl as t\nbefore = t.threadpool_info()\n"
                                "import coke; coke.options()\n"
                                "print(len(t.threadpool_info()) - len(before))")
        self.assertEqual((code, out.strip()), (0, "0"))


if __name__ == "__main__":
    main()
