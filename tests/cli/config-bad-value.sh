# shellcheck shell=bash
# An option of the file out of bounds.
echo '{"ratio": 7}' > c.json
coke cluster x.npy -k 6 --config c.json -o out
