#!/usr/bin/env bash
# check_long_file.sh - a file of 6 GiB is clustered with less than 64 MB of anonymous memory, by
# cosine and by distance.
#
# COKE_LONG_GIB and TMPDIR choose another size and place.
set -eu
build=$1 gib=${COKE_LONG_GIB:-6.1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
free_kb=$(df --output=avail -k "$work" | tail -n 1)
if [ "$free_kb" -lt "$(awk "BEGIN { print int($gib * 1048576) + 200000 }")" ]; then
    echo "skipped: $work has ${free_kb} kB free, $gib GiB are needed"
    exit 77
fi

/usr/bin/python3 - "$work/x.npy" "$gib" <<'P'
import sys

import numpy as np

DIM, BLOCK = 128, 1 << 16
rows = int(float(sys.argv[2]) * 2**30 / 4 / DIM) // BLOCK * BLOCK
rng = np.random.default_rng(0)
center = rng.normal(size=(200, DIM)).astype("f4")
noise = rng.normal(size=(2 * BLOCK, DIM)).astype("f4")
share = 1 / np.arange(1, 201) ** 0.8
with open(sys.argv[1], "wb") as f:
    np.lib.format.write_array_header_1_0(
        f, {"descr": "<f4", "fortran_order": False, "shape": (rows, DIM)})
    for i in range(rows // BLOCK):
        group = rng.choice(200, size=BLOCK, p=share / share.sum())
        start = int(rng.integers(BLOCK))
        f.write((center[group] + noise[start:start + BLOCK]).tobytes())
print(rows, "rows")
P

# measure OUT OPTIONS...: runs and prints the most anonymous memory seen, in kB.
measure() {
    local out=$1 most=0 now pid
    shift
    "$build/coke" cluster "$work/x.npy" -k 200 --epochs 2 -o "$work/$out" -q --json "$@" \
        >"$work/$out.json" 2>"$work/log" &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        now=$(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status" 2>/dev/null || true)
        [ "${now:-0}" -le "$most" ] || most=$now
        sleep 0.05
    done
    wait "$pid" || { cat "$work/log" >&2; return 1; }
    echo "$most"
}

online=$(measure online --no-repair)
echo "online passes: at most $online kB of anonymous memory"
distances=$(measure distances --no-repair --metric euclidean)
echo "the same by distance: $distances kB"
repaired=$(measure repaired)
echo "with the repair, which keeps some bytes a row: $repaired kB"
cat "$work/repaired.json"
[ "$online" -lt 64000 ] && [ "$distances" -lt 64000 ]
