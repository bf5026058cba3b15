"""test_documentation.py - the code blocks of docs/python.md and the README run as they stand."""
import os
import re

from python_case import SOURCE, Case, has, main, rows

NEEDS = {"sklearn": "import GridSearchCV", "torch": "import torch", "polars": "import polars"}


def blocks(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
        return re.findall(r"^```python\n(.*?)^```", f.read(), re.S | re.M)


class Documentation(Case):
    def run_blocks(self, name):
        names = {"x": rows(2000, 16, 12), "new": rows(500, 16, 12, seed=1)}
        ran = 0
        for block in blocks(name):
            missing = [m for m, word in NEEDS.items() if word in block and not has(m)]
            if missing:
                print("not run: a block that needs", *missing)
                continue
            try:
                exec(compile("import coke\n" + block, name, "exec"), names)
            except Exception as error:
                raise AssertionError("%s: %r in\n%s" % (name, error, block))
            ran += 1
        return ran

    def test_python_md(self):
        self.assertGreater(self.run_blocks("docs/python.md"), 8)

    def test_readme(self):
        self.assertGreater(self.run_blocks("README.md"), 0)


if __name__ == "__main__":
    main()
