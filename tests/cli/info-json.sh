# shellcheck shell=bash
# JSON of one file is an object, of several a list.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o out -q >/dev/null || exit 1
coke info --json x.npy > one.json || exit 1
coke info --json x.npy out/model.safetensors > two.json || exit 1
py <<'P'
one, two = json.load(open("one.json")), json.load(open("two.json"))
assert one["shape"] == [600, 8] and two[0] == one
assert two[1]["k"] == 6 and two[1]["metadata"]["n"] == "600"
P
