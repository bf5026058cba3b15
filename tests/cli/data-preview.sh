# shellcheck shell=bash
coke data preview synthetic:n=50 -o sheet.png --rows 3 --columns 2 || exit 1
coke data preview synthetic:n=50 -o sheet.png 2>err && exit 1
cat err >&2
coke data preview synthetic:n=50 -o again.png --rows 3 --columns 2 -q || exit 1
cmp sheet.png again.png || exit 1
coke data preview synthetic:n=50 -o other.png --rows 3 --columns 2 -q --seed 1 || exit 1
cmp -s sheet.png other.png && exit 1
py <<'P'
from PIL import Image
im = Image.open("sheet.png")
# the image and two drawings of two views, in cells of 96 pixels
assert im.mode == "RGB" and im.size == (4 + 96 + 2 * (12 + 96 + 4 + 96) + 4, 4 + 3 * 100), im.size
P
