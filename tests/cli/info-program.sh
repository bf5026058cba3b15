# shellcheck shell=bash
# Without a file: what the program runs on, and why not AMX.
coke info | head -n 2
coke info | tail -n 1
COKE_ISA=avx2 coke --version 2>/dev/null | grep -q 'not AMX: ' || exit 1
[ "$(COKE_ISA=amx-emulated coke info | sed -n 2p | cut -d' ' -f3)" = 'amx-emulated;' ] || exit 1
COKE_ISA=amx coke info 2>&1 | grep -qE 'warning: COKE_ISA=amx: .*AMX.*; using |instruction set amx$' || exit 1
coke info --json > i.json || exit 1
py <<'P'
import json
i = json.load(open("i.json"))
assert sorted(i) == ["amx", "isa", "threads", "version"] and i["threads"] >= 1, i
assert (i["amx"] == "in use") == (i["isa"] == "amx"), i
P
