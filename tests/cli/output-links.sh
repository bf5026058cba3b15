# shellcheck shell=bash
# Names that coke makes itself are not written through symbolic links; a link the user names is.
py <<'P'
save()
P
export HOME=$PWD/home
echo precious > mine
safe() { [ "$(cat mine)" = precious ] || { echo "$1 wrote through a link"; exit 1; }; }
fails() { "$@" >/dev/null && { echo "$*: not refused"; exit 1; }; safe "$*"; }
coke cluster x.npy -k 6 -o good -q >/dev/null || exit 1
for name in labels.npy centers.npy model.safetensors summary.json checksums.xxh3; do
    mkdir "$name.d"
    ln -s ../mine "$name.d/$name"
    fails coke cluster x.npy -k 6 -o "$name.d" -q --force
done
ln -s mine l.npy.xxh3
fails coke assign good x.npy -o l.npy -q --force
mkdir -p photos/a shards
for i in 1 2 3; do printf 'P6 2 2 255\n%s' "0123456789a$i" > photos/a/$i.ppm; done
coke data pack photos -o good -q >/dev/null || exit 1
for name in shards/s-000000.tar shards/s-classes.txt; do
    ln -s ../mine $name
    fails coke data pack photos -o shards/s -q --force
    rm $name
done
cp good-000000.tar t.tar
ln -s mine t.tar.cokeidx
coke data info t.tar >/dev/null || exit 1
safe "data info"
ln -s mine named.npy
coke assign good x.npy -o named.npy -q --force >/dev/null || exit 1
cmp -s mine named.npy && [ -L named.npy ] && [ "$(cat mine)" != precious ]
