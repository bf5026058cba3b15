"""test_cluster_call.py - coke.cluster, models and rows: results, files, errors, Ctrl-C."""
import ast
import copy
import ctypes
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import unittest

from python_case import SOURCE, Case, has, main, np, rows

import coke
from coke import _library
from coke._rows import as_rows


class Results(Case):
    def test_labels_satisfy_the_bounds_and_the_certificate(self):
        x = rows()
        c = coke.cluster(x, 5, ratio=.9)
        self.assertEqual(c.labels.dtype, np.int32)
        sizes = np.bincount(c.labels, minlength=5)
        np.testing.assert_array_equal(sizes, c.sizes)
        self.assertGreaterEqual(sizes.min(), int(.9 * 600 / 5))
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        primal = np.einsum("ij,ij->i", unit, c.centers[c.labels]).sum()
        self.assertAlmostEqual(primal, c.certificate.primal, delta=1e-3)
        self.assertAlmostEqual(c.certificate.gap, 0, delta=1e-3)

    def test_several_k_are_several_clusterings(self):
        two = coke.cluster(rows(), [3, 7])
        self.assertEqual([len(c.centers) for c in two], [3, 7])

    def test_bounds_of_each_cluster(self):
        low, high = [10, 20, 400], [600, 30, 600]
        c = coke.cluster(rows(), 3, min_sizes=low, max_sizes=high)
        self.assertTrue((c.sizes >= low).all() and (c.sizes <= high).all())
        np.testing.assert_array_equal(c.model.min_sizes, low)

    def test_threads_do_not_change_the_result(self):
        one, two = (coke.cluster(rows(), 6, n_jobs=n) for n in (1, 2))
        np.testing.assert_array_equal(one.labels, two.labels)
        self.assertEqual(one.model.data, two.model.data)

    def test_weights_count(self):
        x = rows()
        w = np.ones(len(x))
        w[:300] = 100
        heavy, light = coke.cluster(x, 4, sample_weight=w), coke.cluster(x, 4)
        self.assertFalse(np.array_equal(heavy.centers, light.centers))

    def test_bad_rows_are_skipped_on_request(self):
        x = rows()
        x[7] = np.nan
        with self.assertRaisesRegex(ValueError, "row 7"):
            coke.cluster(x, 4)
        self.assertEqual(coke.cluster(x, 4, bad="skip").labels[7], -1)

    def test_exemplars_are_the_nearest_rows(self):
        for metric in ("cosine", "euclidean"):
            x = rows() + 1
            c = coke.cluster(x, 5, ratio=1, metric=metric)
            y = x / np.linalg.norm(x, axis=1, keepdims=True) if metric == "cosine" else x
            d = ((y.astype(float) - c.centers[c.labels]) ** 2).sum(axis=1)
            for i, got in enumerate(c.exemplars(4)):
                members = np.flatnonzero(c.labels == i)
                np.testing.assert_allclose(d[got], np.sort(d[members])[:4], rtol=1e-5)
            m = coke.KMeans(5, metric=metric).fit(x)
            got = m.exemplars(x, 3)
            np.testing.assert_array_equal(m.predict(x)[got], np.repeat(range(5), 3).reshape(5, 3))
        self.assertTrue((c.exemplars(600) >= 0).sum() == 600)
        copy = pickle.loads(pickle.dumps(c))
        np.testing.assert_array_equal(copy.exemplars(x=x), c.exemplars())
        for words, call in (("pass them", copy.exemplars), ("600 labels", lambda: c.exemplars(x=x[1:])),
                            ("positive", lambda: c.exemplars(0))):
            with self.assertRaisesRegex(ValueError, words):
                call()

    def test_a_clustering_is_pickled(self):
        c = coke.cluster(rows(), 4)
        d = pickle.loads(pickle.dumps(c))
        np.testing.assert_array_equal(c.labels, d.labels)
        np.testing.assert_array_equal(c.predict(rows(seed=2)), d.predict(rows(seed=2)))


class Files(Case):
    def test_the_program_reads_what_the_package_writes(self):
        x, new = rows(), rows(100, seed=1)
        np.save("x.npy", x)
        np.save("new.npy", new)
        c = coke.cluster("x.npy", 4)
        c.write("out")
        self.program("assign", "out", "new.npy", "-o", "labels.npy", "-q")
        np.testing.assert_array_equal(np.load("labels.npy"), c.predict(new))
        c.model.save("model.safetensors")
        self.program("assign", "model.safetensors", "new.npy", "-o", "again.npy", "-q")
        np.testing.assert_array_equal(np.load("again.npy"), c.predict(new))
        with self.assertRaisesRegex(ValueError, "exists"):
            c.model.save("model.safetensors")

    def test_the_package_reads_what_the_program_writes(self):
        x = rows()
        np.save("x.npy", x)
        self.program("cluster", "x.npy", "-k", "4", "-o", "out", "-q")
        m = coke.load("out")
        np.testing.assert_array_equal(m.predict("x.npy", constrained=True),
                                      np.load("out/labels.npy"))
        np.testing.assert_array_equal(m.centers, np.load("out/centers.npy"))
        np.testing.assert_array_equal(coke.cluster(x, 4).labels, np.load("out/labels.npy"))

    def test_rows_of_files(self):
        x = rows()
        np.save("a-1.npy", x[:200].astype("f2"))
        np.save("a-2.npy", x[200:])
        with coke.open_rows("a-*.npy") as r:
            self.assertEqual(r.shape, x.shape)
            np.testing.assert_array_equal(r[300], x[300])
            np.testing.assert_array_equal(r[250:260:3], x[250:260:3])
            np.testing.assert_array_equal(np.asarray(r)[200:], x[200:])
            self.assertEqual(len(coke.cluster(r, 4).labels), len(x))
        with self.assertRaisesRegex(ValueError, "closed"):
            len(r)

    def test_rows_of_files_are_opened_again_by_pickle(self):
        x = rows()
        x.tofile("x.raw")
        with coke.open_rows("x.raw", raw="f32:8") as r:
            for copied in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
                np.testing.assert_array_equal(copied[:], x)
                copied.close()
            np.testing.assert_array_equal(r[:], x)
        with self.assertRaisesRegex(TypeError, "pickle"):
            pickle.dumps(as_rows(x))

    def test_bounds_of_a_model_can_be_replaced(self):
        x = rows()
        m = coke.cluster(x, 4, ratio=0).model.with_bounds(len(x), 100, 200)
        sizes = np.bincount(m.predict(x, constrained=True))
        self.assertTrue(sizes.min() >= 100 and sizes.max() <= 200)


class Errors(Case):
    def test_errors_are_exceptions_with_the_library_s_sentence(self):
        x = rows()
        cases = [
            (ValueError, "nearest is 'ratio'", lambda: coke.cluster(x, 4, ratoi=1)),
            (ValueError, "ratio", lambda: coke.cluster(x, 4, ratio=2)),
            (ValueError, "601 clusters for 600 rows", lambda: coke.cluster(x, 601)),
            (ValueError, "k: 2.5 is not an integer", lambda: coke.cluster(x, 2.5)),
            (ValueError, "k: 'a' is not an integer", lambda: coke.cluster(x, "a")),
            (ValueError, "k: the list is empty", lambda: coke.cluster(x, [])),
            (ValueError, "k: 10+ is not within", lambda: coke.cluster(x, 10 ** 12)),
            (ValueError, "not a type of numbers", lambda: coke.cluster(np.zeros((9, 2), "M8[s]"), 2)),
            (ValueError, "minimum sizes sum", lambda: coke.cluster(x, 4, min_sizes=200)),
            (ValueError, "4 values", lambda: coke.cluster(x, 4, min_sizes=[1, 2])),
            (OSError, "none.npy: No such file", lambda: coke.cluster("none.npy", 4)),
            (OSError, "No such file", lambda: coke.load("none")),
            (ValueError, "features", lambda: coke.cluster(x, 4).predict(x[:, :3])),
        ]
        for kind, words, function in cases:
            with self.assertRaisesRegex(kind, words):
                function()
        with self.assertRaises(coke.Error) as caught:
            coke.cluster(x, 4, ratio=2)
        self.assertEqual(caught.exception.status, -2)
        self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).status, -2)

    def test_damaged_models_are_refused(self):
        data = bytearray(coke.cluster(rows(), 4).model.data)
        data[-1] ^= 1
        with self.assertRaisesRegex(coke.FormatError, "damaged"):
            coke.Model(data)

    def test_an_exception_of_a_callback_comes_through(self):
        def fail(progress):
            raise KeyError(progress.phase)
        with self.assertRaises(KeyError):
            coke.cluster(rows(), 4, progress=fail)
        with self.assertRaises(coke.Stopped):
            coke.cluster(rows(), 4, progress=lambda p: False)

    def test_progress_is_reported(self):
        seen = []
        coke.cluster(rows(), 4, epochs=3, progress=seen.append)
        self.assertIn("epoch", {p.phase for p in seen})

    @unittest.skipUnless(has("tqdm"), "tqdm is not installed")
    def test_progress_is_a_bar_of_tqdm(self):
        job = "import numpy as np, coke\ncoke.cluster(np.random.RandomState(0).randn(600, 8), 4, " \
            "epochs=3, progress=True)"
        code, out = self.python(job)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, r"epoch 1/3: +0%\|.*\| 0/600 .* rows/s")
        code, out = self.python("import sys\nsys.modules['tqdm'] = None\n" + job)
        self.assertEqual(code, 0, out)
        self.assertNotIn("rows/s", out)
        self.assertIn("init: 0", out)

    def test_ctrl_c_stops_a_job(self):
        code, out = self.python("""
import os, signal, threading, numpy as np, coke
x = np.random.RandomState(0).randn(200000, 32).astype("f4")
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
threading.Timer(.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    coke.cluster(x, 500, epochs=100000)
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(len(coke.cluster(x[:1000], 5).labels))
""")
        self.assertEqual((code, out.split()), (0, ["interrupted", "True", "1000"]), out)

    def test_other_threads_run_meanwhile(self):
        """The GIL is released: two jobs and this thread share the process."""
        results = {}

        def work(seed):
            results[seed] = coke.cluster(rows(seed=seed), 5).labels
        threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for seed in range(4):
            np.testing.assert_array_equal(results[seed], coke.cluster(rows(seed=seed), 5).labels)


class Border(Case):
    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_structs_are_laid_out_as_by_the_compiler(self):
        lines = []
        for name, struct in _library.header.struct.items():
            lines.append('printf("%%zu\\n", sizeof(struct %s));' % name)
            lines += ['printf("%%zu\\n", offsetof(struct %s, %s));' % (name, field)
                      for field, _ in struct._fields_]
        with open("layout.c", "w") as f:
            f.write('#include "coke.h"\nint main(void)\n{\n%s\n}\n' % "\n".join(lines))
        subprocess.check_call(["cc", "-I", os.path.join(SOURCE, "include"), "layout.c"])
        expected = [int(line) for line in subprocess.check_output(["./a.out"]).split()]
        found = []
        for struct in _library.header.struct.values():
            found.append(ctypes.sizeof(struct))
            found += [getattr(struct, field).offset for field, _ in struct._fields_]
        self.assertEqual(found, expected)

    def test_every_function_of_the_header_is_known_and_exported(self):
        with open(os.path.join(SOURCE, "include/coke.h")) as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        names = set(re.findall(r"\bcoke_(\w+)\(", text))
        self.assertEqual(names, set(_library.header.function))
        for name in names:
            self.assertTrue(_library.lib.has(name) or not _library.lib.has("train_run"), name)
        kinds = _library.header.function["kmeans_step"]
        self.assertEqual(kinds, (ctypes.c_int, [ctypes.c_void_p] * 3 + [ctypes.c_int64,
                                                                       ctypes.c_void_p], True))

    def test_options_come_from_the_table(self):
        names = [option.name for option in coke.options("cluster")]
        self.assertIn("ratio", names)
        for option in coke.options("cluster"):
            self.assertIn(option.name.replace("-", "_"), coke.cluster.__doc__)

    def test_stubs_have_what_objects_have(self):
        subprocess.check_call([sys.executable, _library.HERE + "/_stubs.py", "stubs.pyi"])
        with open("stubs.pyi") as f:
            body = ast.parse(f.read()).body
        names = [ast.literal_eval(item.value) for item in body if isinstance(item, ast.Assign)]
        self.assertEqual(names, [coke.__all__])  # `from coke import *`, and what is public
        classes = {c.name: c for c in body if isinstance(c, ast.ClassDef)}
        fit = dict(n_clusters=3, size_min=5)
        np.save("x.npy", rows())
        c = coke.cluster(rows(), 3)
        for value in (coke.KMeans(**fit).fit(rows()), coke.KMeansConstrained(**fit).fit(rows()),
                      c, c.model, coke.open_rows("x.npy")):
            body = classes[type(value).__name__].body
            known = {item.target.id if isinstance(item, ast.AnnAssign) else item.name
                     for item in body}
            public = {n for n in set(vars(value)) | set(vars(type(value)))
                      if n[0] != "_" and not n.endswith("_request")}  # scikit-learn adds these
            self.assertEqual(public - known - {"names", "address"}, set(), type(value).__name__)

    def test_import_loads_nothing_else(self):
        code, out = self.python("import coke, sys; print('numpy' in sys.modules, "
                                "'sklearn' in sys.modules)")
        self.assertEqual((code, out.strip()), (0, "False False"))
        code, out = self.python("import coke, sys; coke.cluster; print('sklearn' in sys.modules)")
        self.assertEqual((code, out.strip()), (0, "False"))

    def test_a_call_loads_what_it_needs(self):
        """Of the large modules those that numpy has not loaded anyway."""
        code, out = self.python("import numpy, sys; before = set(sys.modules)\n"
                                "import coke; coke.cluster(numpy.eye(9), 3)\n"
                                "print({'numpy.ma', 'logging', 'inspect'} & set(sys.modules) - before)")
        self.assertEqual((code, out.strip()), (0, "set()"))


if __name__ == "__main__":
    main()
