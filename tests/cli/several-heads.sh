# shellcheck shell=bash
# Several clusterings in one go, each with its files and its sizes.
py <<'P'
save()
P
coke cluster x.npy -k 5,10,20 --ratio .6 -o out -q >/dev/null || exit 1
py <<'P'
names = [f"{what}-h{h}-k{k}{end}" for h, k in enumerate((5, 10, 20))
         for what, end in (("labels", ".npy"), ("centers", ".npy"), ("model", ".safetensors"))]
assert sorted(os.listdir("out")) == sorted(names + ["checksums.xxh3", "summary.json"])
for h, k in enumerate((5, 10, 20)):
    assert sizes(f"out/labels-h{h}-k{k}.npy", k).min() >= int(.6 * 600 / k)
P
coke assign out/model-h1-k10.safetensors x.npy -o labels.npy -q >/dev/null

# progress shows the first clustering, also when it has ended before the others
coke cluster x.npy -k 2,60 --ratio 0 2>progress >/dev/null
py <<'P'
import re
shown = [float(v) for v in re.findall(r"^epoch .* objective (\S+)", open("progress").read(), re.M)]
assert len(shown) > 3 and max(shown[1:]) - min(shown[1:]) < .05, shown
P
