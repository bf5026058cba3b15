# shellcheck shell=bash
# A short demo: trains, compares with pixels, writes a page; again, it is complete at once.
coke demo -n 300 --epochs 4 -o run --json -q > a.json 2>/dev/null || exit 1
coke demo -n 300 --epochs 4 -o run --json -q > b.json 2>/dev/null || exit 1
py <<'P'
a, b = (json.load(open(n)) for n in ("a.json", "b.json"))
assert 0.1 <= a["pixels"]["acc"] < 0.4, a
for name in ("acc", "nmi", "ari", "knn20"):
    assert a["coke"][name] == b["coke"][name], (a, b)
page = open(a["report"]).read()
assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>"), page[:50]
P
coke demo 5
