"""python_case.py - what the tests of the Python package share: data, a folder, and the skip."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

try:
    import numpy as np
except ImportError:
    print("numpy is not installed: skipped")
    sys.exit(77)

PROGRAM = os.environ.get("COKE_PROGRAM")
SOURCE = os.environ.get("COKE_SOURCE")


def rows(n=600, dim=8, groups=6, seed=0, dtype=np.float32):
    """Rows around some directions, of very different numbers."""
    random = np.random.RandomState(seed)
    centers = random.randn(groups, dim) * 2
    member = (random.rand(n) ** 3 * groups).astype(int)
    return (centers[member] + random.randn(n, dim)).astype(dtype)


def has(module):
    try:
        __import__(module)
    except (ImportError, ValueError):  # ValueError: built for another numpy
        return False
    return True


class Case(unittest.TestCase):
    """Runs in an empty folder; warnings about the limit of epochs are not interesting."""

    def setUp(self):
        warnings.simplefilter("ignore")
        self.before = os.getcwd()
        self.folder = tempfile.mkdtemp(prefix="coke-python-")
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir(self.before)
        shutil.rmtree(self.folder)

    def program(self, *arguments):
        done = subprocess.run([PROGRAM] + list(arguments), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def python(self, code, **environment):
        """Runs code in a new interpreter; returns (exit code, output)."""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              env=dict(os.environ, PYTHONWARNINGS="ignore", **environment), timeout=500)
        return done.returncode, done.stdout + done.stderr


def main():
    unittest.main(verbosity=1)
