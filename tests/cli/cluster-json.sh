# shellcheck shell=bash
# --json is one object, and agrees with summary.json.
py <<'P'
save()
P
coke cluster x.npy -k 6,9 -o out -q --json > result.json || exit 1
py <<'P'
a, b = json.load(open("result.json")), json.load(open("out/summary.json"))
assert a["heads"] == b["heads"] and len(a["heads"]) == 2
assert (a["n"], a["dim"], a["skipped"]) == (600, 8, 0)
assert a["heads"][0]["certificate"]["gap"] <= 1e-4 * a["heads"][0]["certificate"]["dual"]
assert set(a["timing"]) == set(b["timing"])
P
