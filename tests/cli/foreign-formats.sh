# shellcheck shell=bash
# Other formats are refused with the line that converts them.
py <<'P'
np.savetxt("x.csv", vectors(), delimiter=",")
np.savetxt("named.csv", vectors(), delimiter=",", header="a,b,c", comments="")
open("x.parquet", "wb").write(b"PAR1....")
open("x.pkl", "wb").write(b"\x80\x04N.")
open("x.pt", "wb").write(b"\x80\x02N.")
open("it's.feather", "wb").write(b"ARROW1..")
open("x.what", "wb").write(b"????????")
P
for name in x.csv named.csv x.parquet x.pkl x.pt "it's.feather" x.what; do
    coke cluster "$name" -k 6 -o out -q
    [ $? = 3 ] || echo "$name: not 3"
done
gzip -c x.csv >x.npy.gz
coke cluster x.npy.gz -k 6 -o out -q

# the lines work
py <<'P'
import json
rows = vectors().tolist()
json.dump(rows, open("rows.json", "w"))
open("rows.jsonl", "w").write("\n".join(map(json.dumps, rows)))
np.savetxt("rows.txt", rows)
P
for name in rows.json rows.jsonl rows.txt; do
    line=$(coke cluster "$name" -k 6 -q 2>&1)
    (PATH=/usr/bin:$PATH && eval "${line##*convert it: }") && coke info x.npy | grep shape
done
