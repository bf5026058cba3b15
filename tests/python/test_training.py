"""test_training.py - coke.train and coke.Run: a tiny training and every use of it."""
import base64
import inspect
import io
import json
import os
import pickle
import re
import subprocess
import sys
import unittest

from python_case import Case, has, main, np

import coke
from coke import _library

SMALL = dict(epochs=3, warmup=1, width=.0625, size=16, dim=16, batch=50, rate=.01)


@unittest.skipUnless(_library.lib.has("train_run"), "a build without networks")
class Training(Case):
    def test_train_and_use(self):
        random = np.random.RandomState(0)
        images = random.randint(0, 255, (120, 20, 20, 3)).astype(np.uint8)
        images[:60, :10] = 0
        seen = []
        run = coke.train(images, [4, 6], "run", progress=seen.append, **SMALL)
        self.assertEqual((run.n_clusters, run.epoch), ([4, 6], 3))
        self.assertTrue(seen and os.path.exists("run-images.npy"))
        x = run.embed(images)
        self.assertEqual((len(x), x.dtype), (120, np.float32))
        cluster, similarity, margin = run.assign(images, head=1)
        self.assertTrue(cluster.min() >= 0 and cluster.max() < 6)
        self.assertTrue((margin >= 0).all() and (similarity <= 1.001).all())
        np.testing.assert_array_equal(x, coke.Run("run").embed("run-images.npy", out="x.npy"))
        run.report("report.html")
        run.export("encoder.safetensors", format="safetensors")
        with self.assertRaisesRegex(ValueError, "exists"):
            run.export("encoder.safetensors")
        np.testing.assert_array_equal(run.labels(1), np.load("run/labels-h1-k6.npy"))
        self.show(run, images)
        names = {name for row in run.metrics_rows() for name in row}
        self.assertTrue("loss" in names and "xxh3" not in names, names)
        again = coke.train(images, [4, 6], "run", **SMALL)  # is complete: resumes, does nothing
        np.testing.assert_array_equal(again.embed(images), x)
        if has("pandas"):
            self.assertEqual(len(run.metrics()), len(run.metrics_rows()))

    def test_a_method_brings_its_preset(self):
        run = coke.train("synthetic:n=60", out="simclr", method="simclr", monitor=0, **SMALL)
        self.assertEqual(run.n_clusters, [])

    def show(self, run, images):
        """The notebook's view has a curve and the images of the clusters, pixel for pixel nearly."""
        page = run._repr_html_()
        self.assertIn("<svg", page)
        sheets = re.findall("data:image/jpeg;base64,([^']+)", page)
        self.assertEqual(len(sheets), 4)  # clusters of the first head
        self.assertEqual(len(run.images()), len(images))
        if has("PIL"):
            from PIL import Image
            labels = run.labels()
            first = np.flatnonzero(labels == np.argmax(np.bincount(labels)))[0]
            sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(sheets[0]))))
            wanted = Image.fromarray(images[first]).resize((56, 56), Image.BICUBIC)
            off = np.abs(sheet[:56, :56].astype(float) - np.asarray(wanted)).mean()
            self.assertLess(off, 20)
        os.rename("run-images.npy", "gone.npy")
        self.assertNotIn("image/jpeg", run._repr_html_())
        os.rename("gone.npy", "run-images.npy")

    def test_any_option_of_the_table_by_name(self):
        """What a method adds to the table is a parameter, documented and in the stubs."""
        names = [o.name.replace("-", "_") for o in coke.options("train") if o.name != "k"]
        names = ["from_" if name == "from" else name for name in names]  # a keyword of Python
        signature = inspect.signature(coke.train).parameters
        for name in names:
            self.assertIn(name, signature)
            self.assertIn("    %s : " % name, coke.train.__doc__)
        subprocess.check_call([sys.executable, _library.HERE + "/_stubs.py", "stubs.pyi"])
        with open("stubs.pyi") as f:
            text = f.read()
        compile(text, "stubs.pyi", "exec")
        for name in names:
            self.assertIn("\n    %s: " % name, text[text.index("def train"):])
        self.assertIn("demo", coke.presets())
        run = coke.train("synthetic:n=60", out="simclr", preset="simclr", **SMALL)
        self.assertEqual((run.n_clusters, run.epoch), ([], 3))
        self.assertNotIn("image/jpeg", run._repr_html_())
        with self.assertRaisesRegex(TypeError, "needs out"):
            coke.train("synthetic:n=60", 3)
        gray = coke.train("synthetic:n=60", 6, "gray", channels=1, **SMALL)
        self.assertEqual(len(gray.embed(np.zeros((5, 20, 20, 3), np.uint8))), 5)
        again = coke.train("synthetic:n=60", out="again", config="simclr/config.json")
        self.assertEqual(again.epoch, 3)

    def test_evaluation(self):
        run = coke.train("synthetic:n=200", 10, "run", **SMALL)
        knn = run.evaluate("synthetic:n=200")
        self.assertEqual(len(knn["k"]), len(knn["accuracy"]))
        self.assertTrue(0 <= knn["accuracy"][0] <= 1)
        linear = run.evaluate("synthetic:n=200", how="linear", epochs=2)
        said = json.loads(self.program("eval", "linear", "run", "synthetic:n=200", "--epochs", "2",
                                       "--json", "-q"))
        self.assertEqual(linear["row"][0]["top1"], said["top1"])
        said = json.loads(self.program("eval", "knn", "run", "synthetic:n=200", "--json", "-q"))
        self.assertEqual(dict(zip(map(str, knn["k"]), knn["accuracy"])), said["accuracy"])
        heads = run.evaluate("synthetic:n=200", how="cluster")["head"]
        self.assertEqual([h["k"] for h in heads], [10])

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "uint8"):
            coke.train(np.zeros((3, 4, 4, 3)), 2, "run")
        with self.assertRaisesRegex(ValueError, "nearest is 'epochs'"):
            coke.train("synthetic:n=50", 2, "run", epoch=2)
        with self.assertRaisesRegex(OSError, "none"):
            coke.Run("none")

    def test_a_run_is_opened_again_by_pickle(self):
        run = coke.train("synthetic:n=60", 5, "run", **SMALL)
        again = pickle.loads(pickle.dumps(coke.Run("run", size=24)))
        np.testing.assert_array_equal(again.labels(), run.labels())
        with self.assertRaisesRegex(TypeError, "pickle"):
            pickle.dumps(run.images())

    def test_ctrl_c_leaves_a_checkpoint(self):
        code, out = self.python("""
import os, signal, coke
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
def stop(p):
    if p.phase == "epoch" or p.epoch > 0:
        os.kill(os.getpid(), signal.SIGINT)
try:
    coke.train("synthetic:n=200", 5, "run", progress=stop, **%r)
except KeyboardInterrupt:
    print("interrupted")
print(coke.train("synthetic:n=200", 5, "run", **%r).epoch)
""" % (SMALL, SMALL))
        self.assertEqual((code, out.split()), (0, ["interrupted", "3"]), out)


class Program(Case):
    def test_python_m_coke_runs_the_program(self):
        done = subprocess.run([sys.executable, "-m", "coke", "--version"], capture_output=True,
                              text=True)
        self.assertEqual(done.stdout.splitlines()[0], "coke " + coke.__version__)
        done = subprocess.run([sys.executable, "-m", "coke", "clutser"], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nearest is 'cluster'", done.stderr)

    @unittest.skipIf(_library.lib.has("train_run"), "a full build")
    def test_a_build_without_networks_says_so(self):
        with self.assertRaisesRegex(coke.Error, "COKE_NN=ON"):
            coke.train("photos", 4, "run")


if __name__ == "__main__":
    main()
