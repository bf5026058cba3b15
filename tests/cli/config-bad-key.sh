# shellcheck shell=bash
# An option of the file that does not exist.
echo '{"ratoi": 0.5}' > c.json
coke cluster x.npy -k 6 --config c.json -o out
