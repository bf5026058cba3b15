# shellcheck shell=bash
# A clustering of embedded images sorts the images.
py <<'P'
for c in ("cat", "dog"):
    for i in range(12):
        photo("photos/%s/%d.png" % (c, i), 20, 20, seed=i + 100 * (c == "dog"))
P
coke train photos --arch resnet18 --stem cifar --width 0.0625 --dim 16 --recipe cifar-single \
    --size 16 --batch 12 -k 3 --epochs 2 --warmup 0 --optimizer sgd --rate 0.01 --threads 1 \
    --monitor 0 -o run -q >/dev/null || exit 1
mkdir rows
coke embed run photos -o rows/x.npy -q >/dev/null || exit 1
coke embed run photos -o rows/x.npy -q 2>/dev/null && exit 1
coke cluster rows/x.npy -k 3 -o clusters -q >/dev/null || exit 1
(cd rows && coke assign ../clusters x.npy -o labels.npy --symlink ../links -q >/dev/null) || exit 1
coke assign clusters rows/x.npy -o l2.npy --copy-to copies >/dev/null || exit 1
py <<'P'
labels = np.load("rows/labels.npy")
names = ["photos/%s/%s" % (c, n) for c in ("cat", "dog") for n in sorted(os.listdir("photos/" + c))]
for folder in ("links", "copies"):
    found = [(k, f) for k in range(3) for f in os.listdir("%s/cluster-%d" % (folder, k))]
    assert len(found) == 24, found
for name, label in zip(names, labels):
    target = os.path.realpath(name)
    inside = ["links/cluster-%d/%s" % (label, f) for f in os.listdir("links/cluster-%d" % label)]
    assert target in [os.path.realpath(f) for f in inside], name
P
coke embed run photos --force -o rows/x.npy -q >/dev/null || exit 1
rm photos/cat/3.png
coke assign clusters rows/x.npy -o l3.npy --symlink out 2>err
[ $? = 2 ] && cat err || exit 1
mv rows/x-images.json away
coke assign clusters rows/x.npy -o l3.npy --symlink out
