# shellcheck shell=bash
# A folder with a class for each subfolder; kinds of files by their contents.
py <<'P'
photo("set/cat/a.jpg"); photo("set/cat/b.png", 30, 50); photo("set/dog/c.jpeg", grey=True)
photo("set/dog/nested/d.PNG", kind="bmp"); photo("set/empty/.hidden.jpg")
P
coke data info set || exit 1
coke data info set --json > a.json || exit 1
py <<'P'
a = json.load(open("a.json"))
assert a["images"] == 4 and a["kind"] == "folder", a
assert [(c["name"], c["images"]) for c in a["classes"]] == [("cat", 2), ("dog", 2), ("empty", 0)], a
assert a["files"] == {"JPEG": 2, "PNG": 1, "BMP": 1}, a
assert a["width"] == {"min": 30, "median": 40, "max": 40}, a
P
