# shellcheck shell=bash
# Odd pictures that can be read, and one line for each that cannot.
py <<'P'
odd_photos("set/ok")
data = photo("set/bad/truncated.jpg").read_bytes()
pathlib.Path("set/bad/truncated.jpg").write_bytes(data[:len(data) // 2])
pathlib.Path("set/bad/zero.png").write_bytes(b"")
pathlib.Path("set/bad/text.webp").write_bytes(b"this is no picture")
P
coke data verify set/ok 2>err || { cat err; exit 1; }
coke data verify set --json -q 2>err >b.json
[ $? = 3 ] || exit 1
py <<'P'
b = json.load(open("b.json"))
assert b["unreadable"] == 3 and len(b["bad"]) == 3, b
assert [x["name"] for x in b["bad"]] == ["bad/text.webp", "bad/truncated.jpg", "bad/zero.png"], b
P
coke data verify set -q
