# shellcheck shell=bash
# The demo keeps what it promises: no bound, .4 and 1.
coke demo vectors -n 4000 -k 20 --dim 16 --json > demo.json || exit 1
py <<'P'
runs = json.load(open("demo.json"))["runs"]
assert [r["ratio"] for r in runs] == [0, .4, 1]
assert runs[1]["sizes"]["min"] >= 80 and runs[1]["below_0.4"] == 0
assert runs[2]["sizes"]["min"] == runs[2]["sizes"]["max"] == 200
P
coke demo vectors -n 4000 -k 20 --dim 16 | tail -n 3
LC_ALL=C coke demo vectors -n 4000 -k 20 --dim 16 | LC_ALL=C grep -q '^[ -~]*##' || exit 1
