"""test_doc_names.py - names in the documentation exist in the tree.

usage: test_doc_names.py TREE

In the pages of the top folder but CHANGELOG.md, of docs/, and the READMEs of tests/ and bench/:
- every word that begins with ck_, coke_, CK_ or COKE_ is a word of the code, or the beginning of
  some when it ends with _ or *;
- every other word with an underscore in backticks is a word of the code;
- every path that begins with a folder of the tree or of src/ leads to a file, where *, <word> and
  WORD stand for anything; build/bench_x and build/tests/test_x are programs that the build makes;
- every name.c and name.h, and `name.py` and the like in backticks, is the name of a file, or of a
  header that the code includes;
- every link leads to a file;
- CONTRIBUTING.md has a row for every door of scripts/check-layers."""
import fnmatch
import glob
import importlib.machinery
import importlib.util
import os
import re
import sys

FOLDERS = ("src", "cli", "include", "tests", "bench", "scripts", "docs", "cmake", "examples")
# Names of other projects, and names that stand for names.
FOREIGN = {"partial_fit", "coke_noun_verb", "ck_noun_verb"}
PREFIXED = re.compile(r"\b(?:ck|coke|CK|COKE)_\w*")
QUOTED = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"(?<![\w./<-])(?:%s|build)/[\w./*<>-]*[\w/*>]" % "|".join(FOLDERS))
C_FILE = re.compile(r"(?<![\w./<>*-])[\w-]+\.[ch]\b")
FILE_NAME = re.compile(r"[\w<>*-]+\.(?:c|h|py|cmake|cpp|sh|mjs)")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


class Tree:
    """Files and words of a source tree."""

    def __init__(self, top):
        self.top = top
        self.files, self.words = [], set()
        for folder in FOLDERS:
            for base, dirs, names in os.walk(os.path.join(top, folder)):
                dirs[:] = [d for d in dirs if not d.startswith((".", "__"))]
                for name in names:
                    self.add(os.path.join(base, name))
        self.files.append("Makefile")
        self.names = {os.path.basename(f) for f in self.files}

    def add(self, path):
        self.files.append(os.path.relpath(path, self.top))
        if path.endswith((".npy", ".md", ".svg", ".png", ".glob", os.path.basename(__file__))):
            return
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        self.words.update(re.findall(r"\w+", text))
        if path.endswith((".c", ".h")):
            self.files += re.findall(r"#\s*include\s*<([^>]+)>", text)

    def has_word(self, word):
        if word.endswith("_"):
            return any(w.startswith(word) for w in self.words)
        return word in self.words

    def has_path(self, path, folder):
        """Whether the path leads to something, seen from the top, from src/ or from `folder`."""
        pattern = re.sub(r"<[^>]*>|\b[A-Z]+\b", "*", path.rstrip("/"))
        return any(glob.glob(os.path.join(self.top, start, pattern))
                   for start in ("", "src", folder))

    def has_program(self, path):
        name = os.path.basename(path.rstrip("/"))
        return not name.startswith(("bench_", "test_")) or name + ".c" in self.names

    def has_file_name(self, name):
        pattern = re.sub(r"<[^>]*>|\b[A-Z]+\b", "*", name)
        return bool(fnmatch.filter(self.names, pattern))


def wrong_words(tree, text):
    for m in PREFIXED.finditer(text):
        if m.group() not in FOREIGN and not tree.has_word(m.group()):
            yield m.start(), "%s is not a name in the code" % m.group()
    for m in QUOTED.finditer(text):
        word = m[1].replace("()", "")
        if re.fullmatch(r"[a-z][a-z0-9]*_\w+", word) and not PREFIXED.match(word) \
                and word not in FOREIGN and not tree.has_word(word):
            yield m.start(), "%s is not a name in the code" % word


def wrong_paths(tree, text, folder):
    for m in PATH.finditer(text):
        path = m.group()
        if path.startswith("build/"):
            if not tree.has_program(path):
                yield m.start(), "%s is not a program that the build makes" % path
        elif not tree.has_path(path, folder):
            yield m.start(), "%s does not exist" % path
    for m in C_FILE.finditer(text):
        if not tree.has_file_name(m.group()):
            yield m.start(), "there is no file %s" % m.group()
    layers = os.listdir(os.path.join(tree.top, "src"))
    for m in QUOTED.finditer(text):
        name = m[1]
        if FILE_NAME.fullmatch(name) and not tree.has_file_name(name):
            yield m.start(), "there is no file %s" % name
        if name.split("/")[0] in layers and "." in name and " " not in name \
                and not tree.has_path(name, folder):
            yield m.start(), "there is no src/%s" % name
    for m in LINK.finditer(text):
        if not os.path.exists(os.path.join(tree.top, folder, m[1])):
            yield m.start(), "the link to %s leads nowhere" % m[1]


def check(tree, path, text):
    found = {*wrong_words(tree, text), *wrong_paths(tree, text, os.path.dirname(path))}
    lines = sorted({(text.count("\n", 0, at) + 1, what) for at, what in found})
    return ["%s:%d: %s" % (path, line, what) for line, what in lines]


def load(path):
    loader = importlib.machinery.SourceFileLoader("check_layers", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def missing_doors(tree, doors, page):
    """Headers whose row in the page's table does not name the files that may include them."""
    with open(os.path.join(tree.top, page), encoding="utf-8") as f:
        rows = [set(QUOTED.findall(line)) for line in f if line.startswith("|")]
    for header, files in doors.items():
        if not any({header, *files} <= row for row in rows):
            yield "%s: no row has %s and %s" % (page, header, ", ".join(files))


# A page on which every line but the last has something wrong.
BAD_PAGE = """ck_no_such_function
`coke_no_such_*`
`no_such_static`
`src/core/no_such.c`
bench/no_such
build/bench_no_such
no_such.h
`no_such.py`
`kernels/no_such.h`
[page](no_such.md)
`coke_kmeans_*`, `src/core/`, `tests/unit/<layer>/test_<file>.c`, `npy.c`, `io/*.c`, `build/coke`
"""


def main():
    tree = Tree(sys.argv[1])
    bad = check(tree, "docs/bad.md", BAD_PAGE)
    if {int(line.split(":")[1]) for line in bad} != set(range(1, 11)):
        print("\n".join(["the check itself is wrong:"] + bad))
        return 1
    pages = [p for p in sorted(os.listdir(tree.top)) if p.endswith(".md") and p != "CHANGELOG.md"]
    pages += ["tests/README.md", "bench/README.md"]
    for base, _, names in os.walk(os.path.join(tree.top, "docs")):
        pages += [os.path.relpath(os.path.join(base, n), tree.top) for n in sorted(names)
                  if n.endswith(".md")]
    doors = load(os.path.join(tree.top, "scripts", "check-layers")).DOORS
    tree.names.update(doors)
    found = list(missing_doors(tree, doors, "CONTRIBUTING.md"))
    for page in pages:
        with open(os.path.join(tree.top, page), encoding="utf-8") as f:
            found += check(tree, page, f.read())
    print("\n".join(found + ["%d pages, %d wrong names" % (len(pages), len(found))]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
