# shellcheck shell=bash
# Rows of 2 and 1 bytes are converted block by block: private memory stays below 90 MB with files
# of 100 and 50 MB, of which a float copy would have 200, by cosine and by distance.
(ulimit -d 90000 && coke --version >/dev/null 2>&1) || exit 77 # sanitizers need terabytes
py <<'P'
x = np.random.default_rng(1).integers(-100, 100, (200000, 256)).astype("i1")
x.astype("f2").tofile("x.f16")
x.tofile("x.i8")
with open("x.u8bin", "wb") as f:
    f.write(np.array(x.shape, "u4").tobytes() + x.tobytes())
P
ulimit -d 90000
for how in "x.f16 --raw f16:256" "x.i8 --raw i8:256" "x.u8bin" \
    "x.f16 --raw f16:256 --metric euclidean" "x.i8 --raw i8:256 --metric euclidean --levels 2"; do
    rm -rf o
    # shellcheck disable=SC2086
    coke cluster $how -k 8 -o o -q --epochs 1 --threads 1 >/dev/null && echo "done"
done
