#!/usr/bin/python3
"""test_tar_formats.py DRIVER - tar files as Python and tar(1) write them, in all formats."""
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zlib

DRIVER = os.path.abspath(sys.argv.pop(1))
FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def listing(*args, data=None):
    """The header and the images that the driver lists; an error raises its sentence."""
    run = subprocess.run([DRIVER, *args], input=data, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    if run.returncode:
        raise ValueError(run.stderr.decode())
    lines = run.stdout.decode().splitlines()
    return lines[0].split("\t"), [line.split("\t") for line in lines[1:]]


def members(limit):
    """Names up to the length that the format can hold, each with a label."""
    names = ["a", "deep/er/b", "../up/c", "caf\u00e9/\u56fe", "d" * 90 + "/" + "e" * 60]
    if limit > 255:
        names += ["f" * 99, "long/" * 60 + "g", "\u00e9" * 70 + "/h" + "i" * 130]
    for i, name in enumerate(names):
        yield name + ".jpg", ("image %d " % i).encode() * (i * 97 + 1)
        yield name + ".cls", b"%d" % (i % 3)


def write_tar(path, form, limit=1000, mode="w"):
    want = []
    with tarfile.open(path, mode, format=form) as tar:
        folder = tarfile.TarInfo("deep")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        link = tarfile.TarInfo("link.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "x" * 150 if limit > 255 else "x"
        tar.addfile(link)
        for name, data in members(limit):
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1700000000.25
            tar.addfile(info, io.BytesIO(data))
            if name.endswith(".jpg"):
                want.append([os.path.basename(path) + "/" + name[:-4],
                             str(len(want) % 3), str(len(data)), "%08x" % zlib.crc32(data)])
    return want


class TarFormats(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        os.chdir(self.folder)

    def tearDown(self):
        os.chdir("/")
        shutil.rmtree(self.folder)

    def test_formats_of_python(self):
        for name, form in FORMATS.items():
            with self.subTest(name):
                want = write_tar(name + ".tar", form, 255 if name == "ustar" else 1000)
                head, got = listing(name + ".tar")
                self.assertEqual(head, ["tar", str(len(want)), "3"])
                self.assertEqual(got, want)
                self.assertEqual(listing(name + ".tar")[1], want)  # with the index

    def test_streams(self):
        want = write_tar("x.tar.gz", tarfile.PAX_FORMAT, mode="w:gz")
        self.assertEqual(listing("--one-pass", "x.tar.gz")[1], want)
        with open("x.tar.gz", "rb") as f:
            got = listing("--one-pass", "-", data=f.read())[1]
        self.assertEqual([g[1:] for g in got], [w[1:] for w in want])
        write_tar("x.tar", tarfile.GNU_FORMAT)
        with open("x.tar", "rb") as f:
            got = listing("--one-pass", "-", data=f.read())[1]
        self.assertEqual([g[1:] for g in got], [w[1:] for w in want])

    def test_formats_of_tar(self):
        if shutil.which("tar") is None:
            self.skipTest("no tar")
        name = "n" * 120 + ".png"
        os.makedirs("tree/sub")
        for path in ("tree/a.png", "tree/sub/" + name):
            with open(path, "wb") as f:
                f.write(path.encode() * 100)
        os.link("tree/a.png", "tree/z.png")
        for form in ("v7", "oldgnu", "gnu", "ustar", "posix"):
            with self.subTest(form):
                files = ["tree/a.png", "tree/z.png"]
                files += ["tree/sub/" + name] if form not in ("v7", "ustar") else []
                run = subprocess.run(["tar", "--format=" + form, "-cf", "t.tar"] + files,
                                     stderr=subprocess.DEVNULL)
                if run.returncode:
                    continue  # another tar, which does not know the format
                head, got = listing("t.tar")
                self.assertEqual([g[0] for g in got],
                                 ["t.tar/" + f[:-4] for f in files if "z.png" not in f])
                self.assertEqual(int(got[0][2]), len("tree/a.png") * 100)

    def test_sparse_files_are_refused(self):
        with open("s.png", "wb") as f:
            f.write(b"x")
            f.truncate(1 << 20)
        for form in ("gnu", "posix"):
            run = subprocess.run(["tar", "--format=" + form, "--sparse", "-cf", "s.tar", "s.png"],
                                 stderr=subprocess.DEVNULL)
            if run.returncode == 0 and os.path.getsize("s.tar") < 1 << 19:
                with self.assertRaisesRegex(ValueError, "sparse"):
                    listing("s.tar")


if __name__ == "__main__":
    unittest.main()
