# shellcheck shell=bash
# A clustering of vectors against known classes, from text and from .npy, and its silhouettes; the
# page and the tables show the same. Rows that were skipped are in no cluster.
set -e
py <<'P'
x = save(n=900, groups=4)
x[5] = 0
np.save("x.npy", x)
np.save("a.npy", x[:300])
np.save("b.npy", x[300:])
rng = np.random.default_rng(0) # as vectors() draws the groups
rng.normal(size=(4, 8))
group = rng.choice(4, size=900, p=1 / np.arange(1, 5) / (1 / np.arange(1, 5)).sum())
np.save("classes.npy", np.where(np.arange(900) == 3, -1, group))
words = np.array(["ten", "2", "10", 'a, "b"'])[group]
words[3] = ""
open("classes.txt", "w").write("\r\n".join(words))
open("names.txt", "w").write("".join(f"row <{i}>\n" for i in range(900)))
P
coke cluster x.npy -k 4,8 --ratio .1 --bad skip -o out -q >/dev/null 2>&1
coke eval cluster out --classes classes.npy -q
coke eval cluster out --classes classes.txt --json -q >text.json
coke eval cluster out --classes classes.npy --json -q >npy.json
coke eval cluster out --vectors a.npy b.npy -q
coke report out --vectors x.npy --names names.txt --classes classes.txt --table t.csv -o r.html -q
coke report out --vectors x.npy --names names.txt --classes classes.txt --table t.json -q
coke report out --table alone.csv -q >/dev/null
py <<'P'
import csv
for a, b in zip(*(json.load(open(f))["heads"] for f in ("text.json", "npy.json"))):
    assert all(abs(a[key] - b[key]) < 1e-12 for key in ("acc", "many_to_one", "nmi", "ari"))
x, label = np.load("x.npy").astype("f8"), np.load("out/labels-h0-k4.npy")
assert label[5] == -1
x = np.where(np.arange(900)[:, None] == 5, 1, x)
x /= np.linalg.norm(x, axis=1, keepdims=True)
close = (x @ np.load("out/centers-h0-k4.npy").T.astype("f8"))
told = json.load(open("t.json"))
lines = list(csv.DictReader(open("t.csv")))
assert len(lines) == 12 and [h["k"] for h in told["heads"]] == [4, 8]
assert [int(l["cluster"]) for l in lines] == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7]
for c in range(4):
    rows = np.flatnonzero(label == c)
    mine = close[rows, c]
    line, item = lines[c], told["heads"][0]["clusters"][c]
    assert int(line["size"]) == item["size"] == len(rows) == int(line["measured"])
    assert int(line["lower"]) == item["lower"] == 22 and line["upper"] == ""
    assert abs(float(line["tightness"]) - mine.mean()) < 1e-6
    assert abs(item["loosest"] - mine.min()) < 1e-6
    best = rows[np.argsort(-mine, kind="stable")][:10]
    near = [int(i) for i in line["nearest"].split()]
    assert near == [m["row"] for m in item["nearest"]]
    assert np.allclose(close[near, c], close[best, c], atol=1e-6)
    assert line["name"] == item["nearest"][0]["name"] == f"row <{near[0]}>"
    assert line["class"] == item["class"] and 0 < float(line["purity"]) <= 1
assert {l["class"] for l in lines[:4]} <= {"ten", "2", "10", 'a, "b"'}
page = open("r.html", encoding="utf-8").read()
assert "row &lt;" in page and "row <" not in page.split("<script")[0] and "Silhouette" in page
alone = list(csv.DictReader(open("alone.csv")))
assert len(alone) == 12 and alone[0]["tightness"] == "" and alone[0]["size"] == lines[0]["size"]
P
