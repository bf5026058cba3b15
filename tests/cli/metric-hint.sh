# shellcheck shell=bash
# One line of warning where the cosine does not fit; none for ordinary vectors, of any length, and
# none with the metric that fits.
set -e
py <<'P'
save()
x = np.load("x.npy")
np.save("unit.npy", x / np.linalg.norm(x, axis=1, keepdims=True))
np.save("far.npy", x + 100)
rng = np.random.default_rng(1)
np.save("ray.npy", (x * np.where(rng.random(600) < .5, 1, 20)[:, None]).astype("f4"))
P
for file in x unit far ray; do
    echo "$file" >&2
    coke cluster $file.npy -k 4 -q >/dev/null
done
coke cluster far.npy -k 4 --metric euclidean -q >/dev/null
