# shellcheck shell=bash
# A small run used and judged as a user would: embed, assign, sort, k-NN, clusters, classifiers.
small="--arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16
       --batch 20 -k 4,10 --epochs 3 --warmup 1 --optimizer sgd --rate 0.01 --threads 1 --monitor 0"
data=synthetic:n=60,size=16
# shellcheck disable=SC2086
coke train $data $small -o run -q >/dev/null || exit 1
quiet() { coke "$@" -q --threads 1; }
quiet embed run $data -o x.npy || exit 1
quiet embed run $data -o /dev/stdout 2>told | cmp - x.npy && grep -q '60 x 32' told || exit 1
quiet embed run $data -o z.npy --features projection --split test --json > z.json || exit 1
quiet cluster x.npy -k 3 -o clusters >/dev/null || exit 1
quiet assign run $data > a.csv || exit 1
quiet assign run $data --json --head 0 -o a.jsonl || exit 1
quiet assign run $data --copy-to sorted -o b.csv || exit 1
cmp a.csv b.csv || exit 1
coke data info sorted | head -2
quiet assign run sorted --symlink links --head 0 > c.csv || exit 1
quiet eval knn run $data
quiet eval knn run $data --neighbours 1 --json > knn.json || exit 1
quiet eval knn run sorted | head -2 | tail -1
quiet eval cluster run $data
quiet eval cluster run run/last.safetensors $data --json > cluster.json || exit 1
quiet eval linear run $data --epochs 2
quiet eval linear run $data --epochs 2 --sweep --trials 2 --json > linear.json || exit 1
quiet eval linear run/final.safetensors $data --epochs 2 --augment --protocol ablation --json >/dev/null || exit 1
quiet eval finetune run $data --epochs 1 --rate 0.01 --batch 30
py <<'P'
import csv, os
x, z = np.load("x.npy"), np.load("z.npy")
assert x.shape == (60, 32) and x.dtype == np.float32, x.shape
assert z.shape == (60, 16) and abs(np.linalg.norm(z, axis=1) - 1).max() < 1e-5
assert json.load(open("z.json"))["epoch"] == 3
rows = list(csv.DictReader(open("a.csv")))
assert len(rows) == 60 and all(0 <= int(r["cluster"]) < 10 for r in rows)
lines = [json.loads(line) for line in open("a.jsonl")]
assert [l["name"] for l in lines] == [r["name"] for r in rows]
assert all(0 <= l["cluster"] < 4 and 0 <= l["margin"] <= 2 for l in lines)
files = [os.path.join(d, f) for d, _, fs in os.walk("sorted") for f in fs]
links = [os.path.join(d, f) for d, _, fs in os.walk("links") for f in fs]
assert len(files) == len(links) == 60 and all(os.path.islink(f) for f in links)
k = json.load(open("knn.json"))
assert k["image_size"] == 16 and k["bank_images"] == 60 and k["test_images"] == 60 and 0 <= k["accuracy"]["1"] <= 1, k
c = json.load(open("cluster.json"))
assert len(c["runs"]) == 2 and c["runs"][0]["matched"] == 1 and c["runs"][0]["split"] == "test"
assert c["mean"][1]["acc"] == c["runs"][0]["heads"][1]["acc"] and c["mean"][1]["acc_deviation"] == 0
t = json.load(open("linear.json"))
assert len(t["rows"]) == 8 and t["trials"] == 2 and t["seed"] == 1 and t["rows"][t["best"]]["top1"] == t["top1"]
P
# Names of any kind, as they are in the table and in the folders.
py <<'P'
import glob, os, shutil
one = glob.glob("sorted/*/*.png")[0]
for name in ('a, "b"', "new\nline", "\u00e4\u6f22", "tab\there", "-dash", "<b>&'"):
    os.makedirs("odd/deep, er", exist_ok=True)
    shutil.copy(one, "odd/deep, er/" + name + ".png")
shutil.copy(one, b"odd/deep, er/bytes\xff.png")
P
quiet assign run odd --copy-to odd-sorted > odd.csv || exit 1
quiet assign run odd --json > odd.jsonl || exit 1
py <<'P'
import csv, os
names = sorted(os.fsencode(r[0]) for r in list(csv.reader(open("odd.csv", errors="surrogateescape", newline="")))[1:])
assert names == sorted(b"deep, er/" + n for n in os.listdir(b"odd/deep, er")), names
lines = [json.loads(line)["name"] for line in open("odd.jsonl")]
assert sorted(os.fsencode(n) for n in lines if "?" not in n) == [n for n in names if b"\xff" not in n], lines
found = [f for _, _, fs in os.walk(b"odd-sorted") for f in fs]
assert sorted(found) == sorted(os.path.basename(n) for n in names), found
P
