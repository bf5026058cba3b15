# shellcheck shell=bash
# What cannot be written is refused before any work.
py <<'P'
save()
P
coke cluster x.npy -k 6 -o model -q >/dev/null || exit 99
touch there.npy rows-offsets.npy
for files in "--second l.npy" "--margins m.npy --second m.npy" "--sorted rows.npy" \
    "--medoids there.npy" "--margins none/m.npy" "--sorted r.npy --medoids r-offsets.npy"; do
    # shellcheck disable=SC2086
    coke assign model x.npy -o l.npy $files -q
    echo "$?" >&2
done
ls ./*.npy
