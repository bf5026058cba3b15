# shellcheck shell=bash
# --raw for what comes after a clustering: its report, silhouettes and info equal those of the same
# rows with a header.
set -e
py <<'P'
x = save(n=900, groups=4).astype("f2")
np.save("x.npy", x)
x[:300].tofile("a.dat")
open("b.dat", "wb").write(b"header.." + x[300:].tobytes())
open("all.dat", "wb").write(b"header.." + x.tobytes())
P
coke cluster x.npy -k 4,8 --ratio .1 -o out -q >/dev/null
coke eval cluster out --vectors x.npy --json -q >npy.json
coke eval cluster out --vectors all.dat --raw f16:8:8 --json -q >raw.json
cmp npy.json raw.json
coke report out --vectors x.npy --table npy.csv -q >/dev/null
coke report out --vectors all.dat --raw f16:8:8 --table raw.csv -q >/dev/null
cmp npy.csv raw.csv
coke info a.dat --raw f16:8
coke info all.dat b.dat --raw f16:8:8 --json >info.json
py <<'P'
a, b = json.load(open("info.json"))
assert a["format"] == "raw" and a["shape"] == [900, 8] and b["shape"] == [600, 8]
P
