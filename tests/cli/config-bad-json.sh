# shellcheck shell=bash
# A file that is no JSON.
printf '{"ratio": 0.5,\n "seed": }\n' > c.json
coke cluster x.npy -k 6 --config c.json -o out
