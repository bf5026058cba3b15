# shellcheck shell=bash
# Initial centers and models that do not fit: each a sentence, and nothing written.
py <<'P'
save()
c = np.random.default_rng(1).normal(size=(6, 8)).astype("f4")
np.save("c.npy", c)
np.save("narrow.npy", c[:, :5])
for name, bad in ("nan", np.nan), ("inf", np.inf):
    np.save(name + ".npy", np.where(np.arange(48).reshape(6, 8) == 19, bad, c))
np.save("zero.npy", c * (np.arange(6) != 4)[:, None])
np.save("many.npy", np.ones((700, 8), "f4"))
save("other.npy", dim=5)
P
printf 'words' > words.txt
coke cluster x.npy -k 4 -o model -q >/dev/null || exit 1
coke cluster other.npy -k 4 -o narrow -q >/dev/null || exit 1
mkdir empty
bad() {
    "$@" -o out >said 2>&1
    echo "$? $(tail -n 1 said)" >&2
    [ "$(wc -l < said)" = 1 ] || exit 1
}
bad coke cluster x.npy --init none.npy
bad coke cluster x.npy -k 6 --init kmean++
bad coke cluster x.npy --init c.npy -k 5
bad coke cluster x.npy --init c.npy -k 6,7
bad coke cluster x.npy --init narrow.npy
bad coke cluster x.npy --init nan.npy
bad coke cluster x.npy --init inf.npy
bad coke cluster x.npy --init zero.npy
bad coke cluster x.npy --init many.npy
bad coke cluster x.npy --init words.txt
bad coke cluster x.npy --init empty
bad coke cluster x.npy --init narrow
bad coke cluster x.npy --init c.npy --continue model
bad coke cluster x.npy --continue none
bad coke cluster x.npy --continue c.npy
bad coke cluster x.npy --continue empty
bad coke cluster x.npy --continue narrow
bad coke cluster x.npy --continue model -k 5
bad coke cluster x.npy --continue model -k 4,5
bad coke cluster x.npy -k 6 --fit-rows 5
bad coke cluster x.npy -k 6 --fit-rows -1
bad coke cluster x.npy --continue model --fit-rows 3
exit 2
