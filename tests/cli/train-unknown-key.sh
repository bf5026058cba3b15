# shellcheck shell=bash
echo '{"temprature": 0.1}' > c.json
coke train synthetic:n=100 -o out -k 10 --config c.json
