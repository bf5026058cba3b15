# shellcheck shell=bash
# First frames of GIF are read; images of other formats are named, not silently left out.
py <<'P'
from PIL import Image
photo("set/a.gif"), photo("set/b.png")
frames = [Image.new("RGB", (20, 10), c) for c in ("red", "blue")]
frames[0].save("set/moving.GIF", save_all=True, append_images=frames[1:])
for name in ("x.jp2", "y.jp2", "sub/z.heic", "readme.txt"):
    path = pathlib.Path("set") / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"not read")
P
coke data info set | grep -E 'images|files|note' || exit 1
coke data verify set || exit 1
coke data pack set -o p --format png -q || exit 1
mkdir others && cp set/x.jp2 others
coke data info others
[ $? = 3 ] || exit 1
py <<'P'
import io, tarfile
from PIL import Image
shard = tarfile.open("p-000000.tar")
first = Image.open(io.BytesIO(shard.extractfile("moving.png").read()))
assert (np.asarray(first) == [255, 0, 0]).all()
P
