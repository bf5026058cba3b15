# shellcheck shell=bash
# What cannot be: a sentence each, and no page.
py <<'P'
save()
save("other.npy", n=500)
P
coke cluster x.npy -k 4 -o c -q >/dev/null || exit 1
coke report -o p.html
coke report c
coke report missing -o p.html
coke report x.npy -o p.html
mkdir empty
coke report empty -o p.html
coke report c -o p.html --vectors other.npy
coke report c -o p.html --images synthetic:n=500
coke report c -o p.html --images nowhere
coke report c -o p.html --images-dir ../up
coke report c -o p.html --images synthetic:n=600 --vectors x.npy --budget 0.0001
rm c/model.safetensors
coke report c -o p.html
rm c/checksums.xxh3
head -c 50 c/summary.json > short && mv short c/summary.json
coke report c -o p.html
echo '{"n": 5}' > c/summary.json
coke report c -o p.html
[ ! -e p.html ] || echo "there is a page"
exit 0
