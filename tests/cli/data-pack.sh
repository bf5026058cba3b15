# shellcheck shell=bash
# Shards in the WebDataset convention, with labels and the names of the classes.
py <<'P'
for c in ("cat", "dog"):
    for i in range(3):
        photo("set/%s/%d.v%d.png" % (c, i, i), 300, 200, seed=i)
P
coke data pack set -o new/dir/x --size 100 -q || exit 1
[ -f new/dir/x-000000.tar ] || exit 1
mkdir bad && echo no >bad/x.png
coke data pack bad -o other/dir/x -q 2>err && exit 1
[ ! -e other ] || exit 1 # folders made for nothing are removed
mkdir shards
coke data pack set -o shards/x --size 100 --shard-size 10000 -q || exit 1
coke data pack set -o shards/x -q 2>err
[ $? = 2 ] || exit 1
cat err
coke data info 'shards/x-{000000..000002}.tar' | grep -v fingerprint || exit 1
py <<'P'
import tarfile
from PIL import Image
names = []
for name in sorted(os.listdir("shards")):
    if name.endswith(".tar"):
        t = tarfile.open("shards/" + name)
        names += t.getnames()
        for m in t:
            if m.name.endswith(".jpg"):
                assert Image.open(t.extractfile(m)).size == (150, 100)
            else:
                label = t.extractfile(m).read().decode()
                assert label == ("0" if m.name.startswith("cat/") else "1"), (m.name, label)
assert len(names) == 12, names
assert all(n.split("/")[-1].count(".") == 1 for n in names), names
P
rm -rf new
