# shellcheck shell=bash
# shellcheck disable=SC2086 # a command may be two words
# Every command has usage, options with defaults, and examples, within 80 columns.
coke --version
for c in cluster assign train embed 'eval knn' 'eval cluster' 'eval linear' 'eval finetune' info report export import \
    'demo vectors' demo 'data info' 'data verify' 'data pack' 'data preview'; do
    coke help $c > a || exit 1
    coke $c --help > b || exit 1
    cmp a b || exit 1
    coke $c -h | cmp - a || exit 1
    head -n 1 a
    grep -q '^examples:' a || exit 1
    py <<'P' || exit 1
long = [line for line in open("a") if len(line) > 90]
assert not long, long
P
done
coke cluster --help | grep -c 'default 0.4'
coke --help | head -n 1
