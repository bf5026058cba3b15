"""test_documentation.py - the code blocks of docs/python.md and the README run as they stand."""
import os
import re

from python_case import SOURCE, Case, has, main, rows

import coke
from coke import _library

NEEDS = {"sklearn": "import GridSearchCV", "torch": "import torch", "polars": "import polars",
         "pandas": "run.metrics()"}
SMALL = dict(epochs=3, warmup=1, width=.0625, size=16, dim=16, batch=50, rate=.01)


def blocks(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
        return re.findall(r"^```python\n(.*?)^```", f.read(), re.S | re.M)


class Documentation(Case):
    def run_blocks(self, name):
        names = {"x": rows(2000, 16, 12), "new": rows(500, 16, 12, seed=1)}
        ran = 0
        for block in blocks(name):
            missing = [m for m, word in NEEDS.items() if word in block and not has(m)]
            if "coke.train(" in block and not _library.lib.has("train_run"):
                missing.append("a full build")
            if missing:
                print("not run: a block that needs", *missing)
                continue
            try:
                exec(compile("import coke\n" + block, name, "exec"), names)
            except Exception as error:
                raise AssertionError("%s: %r in\n%s" % (name, error, block))
            ran += 1
        return ran

    def setUp(self):
        """Trainings of the page are short."""
        super().setUp()
        if _library.lib.has("train_run"):
            train = coke.train
            coke.train = lambda *images, **options: train(*images, **dict(options, **SMALL))
            self.addCleanup(setattr, coke, "train", train)

    def test_python_md(self):
        self.assertGreater(self.run_blocks("docs/python.md"), 8)

    def test_readme(self):
        self.assertGreater(self.run_blocks("README.md"), 0)


if __name__ == "__main__":
    main()
