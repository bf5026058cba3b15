# shellcheck shell=bash
# What --print-config prints, --config reads; the command line wins over the file.
py <<'P'
save()
P
coke cluster -k 6,8 --ratio .7 --eta .05 --init kmeans++ --no-repair --epochs 3 --print-config > c.json || exit 1
coke cluster --config c.json --print-config > d.json || exit 1
cmp c.json d.json || exit 1
coke cluster --ratio .2 --config c.json --print-config > e.json || exit 1
py <<'P'
c, e = json.load(open("c.json")), json.load(open("e.json"))
assert c["k"] == [6, 8] and c["repair"] == "off" and c["epochs"] == 3
assert e["ratio"] == .2 and {**e, "ratio": c["ratio"]} == c
P
coke cluster x.npy --config c.json -o a -q >/dev/null || exit 1
coke cluster x.npy -k 6,8 --ratio .7 --eta .05 --init kmeans++ --no-repair --epochs 3 -o b -q >/dev/null || exit 1
cmp a/labels-h1-k8.npy b/labels-h1-k8.npy
