"""Images decoded byte by byte as Pillow decodes them, and encoded so that Pillow can read them.

usage: test_pillow_codecs.py PATH-OF-CODEC_DRIVER     exit code 77: no Pillow here
"""

import io
import os
import random
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib

try:
    import numpy as np
    from PIL import Image, ImageOps, features
except ImportError:
    print("no numpy or Pillow")
    sys.exit(77)

warnings.simplefilter("ignore")  # of Pillow's about transparency
DRIVER = sys.argv[1]
SIZES = [(1, 1), (2, 3), (7, 5), (16, 16), (33, 17), (64, 65), (131, 97)]


def picture(size, seed=0):
    """Smooth colour with edges and noise, so that errors in chroma show."""
    rng = np.random.default_rng(seed)
    w, h = size
    y, x = np.mgrid[0:h, 0:w]
    base = np.stack([x * 7 + y * 3, x * 2 - y * 5, (x // 5 + y // 3) * 40], -1)
    return Image.fromarray((base + rng.integers(0, 60, base.shape)).astype("u1"))


class Decoder:
    """One driver for all files: also a test of state that must not leak between files."""

    def __init__(self):
        self.p = subprocess.Popen([DRIVER, "decode"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)

    def __call__(self, path, channels=0, orient=0, scale=1, background=None):
        color = "%02x%02x%02x" % background if background else "-1"
        self.p.stdin.write(f"{channels} {orient} {scale} {color} {path}\n".encode())
        self.p.stdin.flush()
        line = self.p.stdout.readline().decode()
        if line.startswith("error: "):
            return line.strip()
        w, h, c = map(int, line.split())
        data = np.frombuffer(self.p.stdout.read(w * h * c), "u1")
        return data.reshape(h, w, c)

    def close(self):
        self.p.stdin.close()
        assert self.p.wait() == 0


def check(path, got, want):
    """want: a Pillow image in mode RGB or L."""
    want = np.asarray(want)
    want = want.reshape(want.shape[0], want.shape[1], -1)
    assert not isinstance(got, str), f"{path}: {got}"
    assert got.shape == want.shape, f"{path}: {got.shape} instead of {want.shape}"
    off = np.abs(got.astype(int) - want).max()
    assert off == 0, f"{path}: up to {off} levels apart"


# ---- files --------------------------------------------------------------------------------------

def save(folder, name, im, kind, **options):
    path = f"{folder}/{name}"
    im.save(path, kind, **options)
    return path


def jpeg_files(folder):
    for size in SIZES:
        im, tag = picture(size), "%dx%d" % size
        for sub in (0, 1, 2):
            for progressive in (False, True):
                name = f"s{sub}p{int(progressive)}-{tag}.jpg"
                yield save(folder, name, im, "JPEG", subsampling=sub, progressive=progressive,
                           quality=85)
        yield save(folder, f"grey-{tag}.jpg", im.convert("L"), "JPEG")
        yield save(folder, f"greyp-{tag}.jpg", im.convert("L"), "JPEG", progressive=True)
        yield save(folder, f"cmyk-{tag}.jpg", im.convert("CMYK"), "JPEG")
        ppm = save(folder, f"{tag}.ppm", im, "PPM")
        for factors, restart, progressive in JPEG_KINDS:
            out = f"{folder}/{factors}r{restart}p{progressive}-{tag}.jpg"
            subprocess.run([DRIVER, "jpeg", factors, str(restart), str(progressive), ppm, out],
                           check=True)
            yield out


# Sampling factors (4:4:0, 4:1:1, 4:1:0, odd ones), MCUs between restarts, progressive
JPEG_KINDS = [("12,11,11", 0, 0), ("12,11,11", 0, 1), ("22,11,11", 1, 0), ("21,11,11", 3, 0),
              ("11,11,11", 2, 1), ("41,11,11", 0, 0), ("42,11,11", 0, 0), ("14,11,11", 0, 0),
              ("22,11,11", 5, 1), ("22,21,12", 0, 0), ("11,21,21", 0, 0), ("21,21,21", 0, 0),
              ("31,11,11", 0, 0), ("21,21,11", 0, 1), ("ycck", 0, 0), ("ycck", 2, 1)]


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def raw_png(folder, name, size, bits, color, extra=b"", interlaced=False):
    """A PNG of noise in a form that Pillow does not write."""
    w, h = size
    samples = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    rng = np.random.default_rng(bits * 10 + color)
    passes = [(0, 0, 1, 1)]
    if interlaced:
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4),
                  (1, 0, 2, 2), (0, 1, 1, 2)]
    data = b""
    for x, y, dx, dy in passes:
        pw, ph = (w - x + dx - 1) // dx, (h - y + dy - 1) // dy
        for _ in range(ph if pw > 0 else 0):
            n = (pw * bits * samples + 7) // 8
            data += bytes([rng.integers(0, 5)]) + rng.integers(0, 256, n, "u1").tobytes()
    path = f"{folder}/{name}"
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
            ">IIBBBBB", w, h, bits, color, 0, 0, int(interlaced))))
        f.write(extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))
    return path


def png_files(folder):
    rng = np.random.default_rng(3)
    for size in SIZES:
        tag = "%dx%d" % size
        for inter in (False, True):
            for bits in (1, 2, 4, 8):
                name = f"p{bits}i{int(inter)}-{tag}.png"
                plte = chunk(b"PLTE", rng.integers(0, 256, 3 << bits, "u1").tobytes())
                yield raw_png(folder, name, size, bits, 3, plte, inter)
                yield raw_png(folder, "t" + name, size, bits, 3, plte + chunk(b"tRNS", b"\0\x80"),
                              inter)
                yield raw_png(folder, "g" + name, size, bits, 0, b"", inter)
            for bits in (8, 16):
                for color in (2, 4, 6):
                    name = f"b{bits}c{color}i{int(inter)}-{tag}.png"
                    yield raw_png(folder, name, size, bits, color, b"", inter)
        gama = chunk(b"gAMA", struct.pack(">I", 100000)) + chunk(b"sRGB", b"\0")
        yield raw_png(folder, f"gama-{tag}.png", size, 8, 2, gama)
        trns = chunk(b"tRNS", struct.pack(">HHH", 1, 2, 3))
        yield raw_png(folder, f"trns-{tag}.png", size, 8, 2, trns)
        yield raw_png(folder, f"gtrns-{tag}.png", size, 8, 0, chunk(b"tRNS", b"\0\1"))
    frames = [picture((20, 10), i) for i in range(3)]
    yield save(folder, "animated.png", frames[0], "PNG", save_all=True, append_images=frames[1:])


def webp_files(folder):
    for size in SIZES:
        im, tag = picture(size), "%dx%d" % size
        alpha = im.copy().convert("RGBA")
        alpha.putalpha(im.convert("L"))
        for lossless in (False, True):
            tag2 = f"l{int(lossless)}-{tag}.webp"
            yield save(folder, "rgb" + tag2, im, "WEBP", lossless=lossless)
            yield save(folder, "rgba" + tag2, alpha, "WEBP", lossless=lossless)
            yield save(folder, "exact" + tag2, alpha, "WEBP", lossless=lossless, exact=True)
            more = [picture(size, 1), picture(size, 2)]
            yield save(folder, "anim" + tag2, alpha, "WEBP", save_all=True, append_images=more,
                       lossless=lossless)
    small = Image.new("RGBA", (40, 30))  # a first frame that fills a corner of its canvas only
    small.paste(picture((10, 8)), (12, 14))
    yield save(folder, "corner.webp", small, "WEBP", save_all=True,
               append_images=[picture((40, 30))], lossless=True, minimize_size=True)
    yield placed_frame(folder)


def placed_frame(folder):
    """An animation whose first frame lies in the middle of the canvas."""
    b = io.BytesIO()
    picture((10, 8)).save(b, "WEBP", lossless=True)
    picture_chunk = b.getvalue()[12:]

    def riff_chunk(name, body):
        return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)

    def u24(x):
        return struct.pack("<I", x)[:3]

    body = riff_chunk(b"VP8X", b"\2\0\0\0" + u24(39) + u24(29))
    body += riff_chunk(b"ANIM", b"\xff\x80\x40\x20\0\0")
    body += riff_chunk(b"ANMF", u24(6) + u24(7) + u24(9) + u24(7) + u24(100) + b"\0"
                       + picture_chunk)
    path = f"{folder}/placed.webp"
    with open(path, "wb") as f:
        f.write(riff_chunk(b"RIFF", b"WEBP" + body))
    return path


def raw_bmp(folder, name, size, bits, packing=0, masks=b"", top_down=False, header=40):
    w, h = size
    stride = (w * bits + 31) // 32 * 4
    rng = np.random.default_rng(bits)
    palette = b""
    if bits <= 8:
        palette = rng.integers(0, 256, (3 if header == 12 else 4) << bits, "u1").tobytes()
    if header == 12:
        head = struct.pack("<IHHHH", 12, w, h, 1, bits)
    else:
        head = struct.pack("<IiiHHIIIIII", header, w, -h if top_down else h, 1, bits, packing,
                           stride * h, 0, 0, 0, 0)
        if header > 40:
            head += masks + b"\0" * (header - 40 - len(masks))
            masks = b""
    offset = 14 + len(head) + len(masks) + len(palette)
    path = f"{folder}/{name}"
    with open(path, "wb") as f:
        f.write(b"BM" + struct.pack("<IHHI", offset + stride * h, 0, 0, offset) + head + masks)
        f.write(palette + rng.integers(0, 256, stride * h, "u1").tobytes())
    return path


def bmp_files(folder):
    for size in SIZES:
        im, tag = picture(size), "%dx%d" % size
        for mode in ("1", "L", "P", "RGB", "RGBA"):
            yield save(folder, f"{mode}-{tag}.bmp", im.convert(mode), "BMP")
        for bits in (1, 4, 8, 16, 24, 32):
            yield raw_bmp(folder, f"b{bits}-{tag}.bmp", size, bits)
            yield raw_bmp(folder, f"t{bits}-{tag}.bmp", size, bits, top_down=True)
        for bits in (1, 4, 8, 24):
            yield raw_bmp(folder, f"os2-{bits}-{tag}.bmp", size, bits, header=12)
        for i, (bits, *masks) in enumerate(BMP_MASKS):
            packed = struct.pack("<III", *masks[:3])
            if bits != 32 or masks[3] == 0:  # a header of 40 bytes has no mask of alpha
                yield raw_bmp(folder, f"m{i}-{tag}.bmp", size, bits, 3, packed)
            packed += struct.pack("<I", masks[3])
            yield raw_bmp(folder, f"v5m{i}-{tag}.bmp", size, bits, 3, packed, header=124)
    yield rle_bmp(folder, 8)
    yield rle_bmp(folder, 4)


BMP_MASKS = [(16, 0xF800, 0x7E0, 0x1F, 0), (16, 0x7C00, 0x3E0, 0x1F, 0),
             (32, 0xFF0000, 0xFF00, 0xFF, 0), (32, 0xFF000000, 0xFF0000, 0xFF00, 0),
             (32, 0xFF, 0xFF00, 0xFF0000, 0xFF000000), (32, 0, 0, 0, 0)]


def rle_bmp(folder, bits):
    """Runs, literal pixels (an even number, else Pillow 9.4 reads them wrongly), ends of lines."""
    w, h = 12, 6
    rng = np.random.default_rng(bits)
    line = [bytes([5, 0x31, 0, 4]) + rng.integers(0, 16, 4 * bits // 8, "u1").tobytes()
            + bytes([3, 0x72]) + b"\0\0" for _ in range(h)]
    data = b"".join(line) + b"\0\1"
    palette = rng.integers(0, 256, 4 << bits, "u1").tobytes()
    head = struct.pack("<IiiHHIIIIII", 40, w, h, 1, bits, 1 if bits == 8 else 2, len(data), 0, 0,
                       0, 0)
    offset = 14 + len(head) + len(palette)
    path = f"{folder}/rle{bits}.bmp"
    with open(path, "wb") as f:
        f.write(b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + head + palette
                + data)
    return path


def pnm_files(folder):
    rng = np.random.default_rng(5)

    def write(name, text, body):
        path = f"{folder}/{name}"
        with open(path, "wb") as f:
            f.write(text.encode() + body)
        return path

    for size in SIZES:
        w, h = size
        im, tag = picture(size), "%dx%d" % size
        for mode in ("1", "L", "RGB"):
            yield save(folder, f"{mode}-{tag}.pnm", im.convert(mode), "PPM")
        bits = " ".join(str(x) for x in rng.integers(0, 2, w * h))
        yield write(f"p1-{tag}.pbm", f"P1\n# bits\n{w} {h}\n", bits.encode())
        yield write(f"p1x-{tag}.pbm", f"P1 {w} {h} ", bits.replace(" ", "").encode())
        for top in (1, 3, 15, 100, 254, 255, 256, 1000, 65535):
            for kind, samples in (("P2", 1), ("P3", 3), ("P5", 1), ("P6", 3)):
                if kind in ("P2", "P5") and top > 255:
                    continue  # 16-bit grey is another mode of Pillow's: see wide_greys
                values = rng.integers(0, top + 1, w * h * samples)
                head = f"{kind}\n# made here\n{w}\t{h} # size\n{top}\n"
                if kind in ("P5", "P6"):
                    body = values.astype(">u2" if top > 255 else "u1").tobytes()
                else:
                    body = "\n".join(map(str, values)).encode() + b" # end"
                yield write(f"{kind}-{top}-{tag}.pnm", head, body)


def raw_gif(folder, name, size, screen, at=(0, 0), bits=8, colors=8, key=None, local=False,
            interlaced=False, grey=False, short=0):
    """A GIF of noise in a form that Pillow does not write. Its codes are never compressed: a
    clear code comes before the table would grow."""
    rng = np.random.default_rng(bits)
    entries = rng.integers(0, 256, (1 << colors, 3), "u1")
    if grey:
        entries[:] = entries[:, :1]
    flags = 0x80 | colors - 1
    head = b"GIF89a" + struct.pack("<HHBBB", *screen, 0 if local else flags, 0, 0)
    head += b"" if local else entries.tobytes()
    if key is not None:
        head += b"!\xf9\4" + struct.pack("<BHB", 1, 0, key) + b"\0"
    head += b"!\xfe\5hello\0"
    head += b"," + struct.pack("<HHHHB", *at, *size, (flags if local else 0) | interlaced << 6)
    head += entries.tobytes() if local else b""
    values = rng.integers(0, 1 << bits, size[0] * size[1] - short)
    codes, room = [], 0
    for v in values:
        if room == 0:
            codes.append(1 << bits)
            room = max((1 << bits) - 2, 1)
        codes.append(int(v))
        room -= 1
    codes.append((1 << bits) + 1)
    number = 0
    for i, c in enumerate(codes):
        number |= c << i * (bits + 1)
    data = number.to_bytes((len(codes) * (bits + 1) + 7) // 8, "little")
    blocks = b"".join(bytes([len(data[i:i + 255])]) + data[i:i + 255]
                      for i in range(0, len(data), 255))
    path = f"{folder}/{name}.gif"
    with open(path, "wb") as f:
        f.write(head + bytes([bits]) + blocks + b"\0;")
    return path


def gif_files(folder):
    for size in SIZES:
        im, tag = picture(size), "%dx%d" % size
        for mode in ("1", "L", "P", "RGB"):
            yield save(folder, f"{mode}-{tag}.gif", im.convert(mode), "GIF")
            yield save(folder, f"i{mode}-{tag}.gif", im.convert(mode), "GIF", interlace=False)
        yield save(folder, f"t-{tag}.gif", im.convert("P"), "GIF", transparency=3)
        yield save(folder, f"tl-{tag}.gif", im.convert("L"), "GIF", transparency=40)
        yield save(folder, f"anim-{tag}.gif", im, "GIF", save_all=True,
                   append_images=[picture(size, 1)])
        for bits, colors in ((2, 2), (4, 3), (8, 8), (8, 2)):
            for key in (None, 1):
                for inter in (False, True):
                    name = f"r{bits}-{colors}-{key}-{int(inter)}-{tag}"
                    yield raw_gif(folder, name, size, size, (0, 0), bits, colors, key,
                                  bits == 4, inter, bits == 2)
    yield save(folder, "noise.gif", Image.fromarray(
        np.random.default_rng(0).integers(0, 256, (200, 300), "u1")), "GIF")  # a full table
    yield raw_gif(folder, "corner", (5, 4), (20, 10), (7, 3))
    yield raw_gif(folder, "clear-corner", (5, 4), (20, 10), (7, 3), key=2)


def tiff_files(folder):
    for size in SIZES:
        im, tag = picture(size), "%dx%d" % size
        alpha = im.convert("RGBA")
        alpha.putalpha(im.convert("L"))
        for mode in ("1", "L", "P", "RGB", "RGBA", "LA"):
            source = alpha.convert(mode) if "A" in mode else im.convert(mode)
            for packing in (None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
                if packing == "jpeg" and mode not in ("L", "RGB"):
                    continue
                yield save(folder, f"{mode}-{packing}-{tag}.tif", source, "TIFF",
                           compression=packing)
        yield save(folder, f"strips-{tag}.tif", im, "TIFF", compression="tiff_lzw",
                   tiffinfo={278: 3})
        yield raw_tiff(folder, f"planes-{tag}", size, planar=2)
        yield raw_tiff(folder, f"big-{tag}", size, order=">")
        yield raw_tiff(folder, f"deep-{tag}", size, bits=16)
        yield raw_tiff(folder, f"white-{tag}", size, samples=1, photometric=0)
        yield raw_tiff(folder, f"extra-{tag}", size, samples=4, extra=0)
        yield raw_tiff(folder, f"alpha-{tag}", size, samples=4, extra=2)
        yield raw_tiff(folder, f"over-{tag}", size, samples=4, extra=1)
        if size[0] > 2:
            yield raw_tiff(folder, f"tiles-{tag}", size, tile=16)


def raw_tiff(folder, name, size, bits=8, samples=3, photometric=2, planar=1, extra=None,
             order="<", tile=0):
    """An uncompressed TIFF of noise."""
    w, h = size
    rng = np.random.default_rng(samples)
    values = rng.integers(0, 1 << bits, (h, w, samples))
    if extra == 1:  # multiplied by alpha
        values[..., :3] = values[..., :3] * values[..., 3:] // 255
    values = values.astype(order + ("u2" if bits == 16 else "u1"))
    if tile:
        full = np.zeros(((h + tile - 1) // tile * tile, (w + tile - 1) // tile * tile, samples),
                        values.dtype)
        full[:h, :w] = values
        blocks = [full[y:y + tile, x:x + tile].tobytes() for y in range(0, h, tile)
                  for x in range(0, w, tile)]
    elif planar == 2:
        blocks = [values[..., i].tobytes() for i in range(samples)]
    else:
        blocks = [values.tobytes()]
    body, offsets = b"", []
    for block in blocks:
        offsets.append(8 + len(body))
        body += block + b"\0" * (len(block) % 2)
    tags = {256: ("H", [w]), 257: ("H", [h]), 258: ("H", [bits] * samples), 259: ("H", [1]),
            262: ("H", [photometric]), 277: ("H", [samples]), 284: ("H", [planar])}
    if extra is not None:
        tags[338] = ("H", [extra])
    if tile:
        tags.update({322: ("H", [tile]), 323: ("H", [tile]), 324: ("I", offsets),
                     325: ("I", [len(b) for b in blocks])})
    else:
        tags.update({273: ("I", offsets), 278: ("H", [h]), 279: ("I", [len(b) for b in blocks])})
    entries, more = b"", b""
    directory = 8 + len(body)
    behind = directory + 2 + 12 * len(tags) + 4
    for tag in sorted(tags):
        kind, numbers = tags[tag]
        packed = struct.pack(f"{order}{len(numbers)}{kind}", *numbers)
        if len(packed) > 4:
            value = struct.pack(order + "I", behind + len(more))
            more += packed + b"\0" * (len(packed) % 2)
        else:
            value = packed.ljust(4, b"\0")
        entries += struct.pack(order + "HHI", tag, {"H": 3, "I": 4}[kind], len(numbers)) + value
    path = f"{folder}/{name}.tif"
    with open(path, "wb") as f:
        f.write((b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", directory))
        f.write(body + struct.pack(order + "H", len(tags)) + entries + b"\0\0\0\0" + more)
    return path


# ---- tests --------------------------------------------------------------------------------------

def composite(im, color):
    """What Pillow shows of an image in front of a colour."""
    return Image.alpha_composite(Image.new("RGBA", im.size, color + (255,)),
                                 im.convert("RGBA")).convert("RGB")


def shown_as_pillow(path, decode, im):
    for color in ((255, 255, 255), (0, 0, 0), (200, 30, 117)):
        want = composite(im, color)
        check(path, decode(path, 3, background=color), want)
        check(path, decode(path, 1, background=color), want.convert("L"))


def same_as_pillow(folder, decode, files):
    count = 0
    for path in files(folder):
        with Image.open(path) as im:
            rgb, grey = im.convert("RGB"), im.convert("L")
            shown_as_pillow(path, decode, im)
        got = decode(path)
        check(path, got, grey if got.shape[2] == 1 else rgb)
        check(path, decode(path, 3), rgb)
        check(path, decode(path, 1), grey)
        count += 1
    print(f"{files.__name__}: {count} files, all bytes equal to Pillow's")


def wide_greys(folder, decode):
    """16-bit grey: Pillow clips in convert(); here its high byte (PNG) or v / max * 255 (PNM)."""
    path = raw_png(folder, "wide.png", (33, 17), 16, 0)
    with Image.open(path) as im:
        high = (np.asarray(im) >> 8).astype("u1")
    check(path, decode(path), Image.fromarray(high))
    values = np.arange(0, 65536, 131)
    path = f"{folder}/wide.pgm"
    with open(path, "wb") as f:
        f.write(b"P5 %d 1 65535\n" % len(values) + values.astype(">u2").tobytes())
    check(path, decode(path), Image.fromarray(np.rint(values / 65535 * 255).astype("u1")[None]))


def transparent_colours(folder, decode):
    """tRNS in forms that Pillow 9.4 reads wrongly: 1, 2, 4 and 16 bits. The colour is exact."""
    rng = np.random.default_rng(11)
    white = (255, 255, 255)
    for bits, color in ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2)):
        samples = 3 if color == 2 else 1
        values = rng.integers(0, 2, (9, 16, samples)) * ((1 << bits) - 1)
        if bits == 16:
            values -= rng.integers(0, 2, values.shape) * 3 * (values > 0)  # 65532: not the key
        key = (1 << bits) - 1
        rows = b""
        for row in values.reshape(9, -1):
            packed = (row.astype(">u2").tobytes() if bits == 16 else
                      np.packbits(((row[:, None] >> np.arange(bits)[::-1]) & 1).astype("u1"))
                      .tobytes())
            rows += b"\0" + packed
        path = f"{folder}/key-{bits}-{color}.png"
        with open(path, "wb") as f:
            f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
                ">IIBBBBB", 16, 9, bits, color, 0, 0, 0)))
            f.write(chunk(b"tRNS", struct.pack(">H", key) * samples))
            f.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
        clear = (values == key).all(-1)
        assert clear.any() and not clear.all()
        shown = (values >> 8 if bits == 16 else values * 255 // key).astype("u1")
        shown[clear] = 255
        if samples == 1:
            shown = shown.repeat(3, -1)
        check(path, decode(path, 3, background=white), Image.fromarray(shown))
    print("tRNS of all depths: the colour is transparent")


def orientations(folder, decode):
    im = picture((150, 81))
    for kind in ("JPEG", "PNG", "WEBP"):
        for grey in (False, True):
            for orientation in range(0, 10):
                exif = Image.Exif()
                exif[0x0112] = orientation
                exif[0x010F] = "a maker"
                source = im.convert("L") if grey else im
                path = save(folder, f"o{orientation}g{int(grey)}.{kind}", source, kind, exif=exif)
                with Image.open(path) as stored:
                    upright = ImageOps.exif_transpose(stored).convert("RGB")
                    as_is = stored.convert("RGB")
                check(path, decode(path, 3, 1), upright)
                check(path, decode(path, 3, 0), as_is)
    print("orientations: as ImageOps.exif_transpose")


def scaled_as_pillow(folder, decode):
    """Pillow's draft() asks libjpeg for the same scaling."""
    for size in ((160, 96), (131, 97)):
        for sub in (0, 1, 2):
            path = save(folder, f"scaled{sub}.jpg", picture(size), "JPEG", subsampling=sub)
            for scale in (2, 4, 8):
                with Image.open(path) as im:
                    im.draft("RGB", (size[0] // scale, size[1] // scale))
                    want = im.convert("RGB")
                check(path, decode(path, 3, 0, scale), want)
    print("scaled JPEG: as Pillow's draft")


def parts(folder):
    files = [p for p in jpeg_files(folder) if "131x97" in p or "64x65" in p or "7x5" in p]
    big = picture((500, 375))
    files += [save(folder, f"big{s}{p}.jpg", big, "JPEG", subsampling=s, progressive=bool(p))
              for s in (0, 1, 2) for p in (0, 1)]
    random.Random(1).shuffle(files)
    done = subprocess.run([DRIVER, "parts", "200", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    smaller = int(done.stdout.split(",")[1].split()[0])
    assert smaller > 20 * len(files), done.stdout
    print(f"parts: {len(files)} files x 200 boxes at 4 scales equal the whole; {smaller} smaller")


def refused_when_cut(folder, decode):
    """What Pillow refuses as truncated is refused here, and with words that name the file."""
    im = picture((24, 18))
    for kind, options in (("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}),
                          ("WEBP", {}), ("WEBP", {"lossless": True}), ("BMP", {}), ("PPM", {}),
                          ("GIF", {}), ("TIFF", {"compression": "tiff_lzw"})):
        b = io.BytesIO()
        im.save(b, kind, **options)
        whole = b.getvalue()
        path = f"{folder}/cut"
        for n in list(range(0, len(whole), 7)) + list(range(len(whole) - 12, len(whole))):
            with open(path, "wb") as f:
                f.write(whole[:n])
            got = decode(path)
            if kind == "GIF" and n >= len(whole) - 4:
                continue  # the codes after the last pixel
            assert isinstance(got, str) and path in got, f"{kind} cut to {n} bytes: {got}"
    path = raw_gif(folder, "short", (15, 14), (15, 14), short=50)
    assert "truncated GIF" in decode(path)
    print("cut files: refused")


def written_files(folder):
    for mode in ("L", "RGB"):
        im = picture((61, 47)).convert(mode)
        source = save(folder, f"written-{mode}.ppm", im, "PPM")
        for kind, quality in (("PNG", 0), ("PPM", 0), ("JPEG", 75), ("JPEG", 90), ("JPEG", 95)):
            out, again = f"{folder}/written.{kind}", f"{folder}/again.{kind}"
            for path in (out, again):
                subprocess.run([DRIVER, "encode", kind, str(quality), source, path], check=True)
            with open(out, "rb") as a, open(again, "rb") as b:
                data = a.read()
                assert data == b.read()
            with Image.open(out) as got:
                assert got.mode == mode and got.format == kind
                got.load()
                if kind != "JPEG":
                    assert (np.asarray(got) == np.asarray(im)).all()
                    continue
            sub = 2 if quality < 95 else 0
            theirs = io.BytesIO()
            im.save(theirs, "JPEG", quality=quality, subsampling=sub)
            with Image.open(theirs) as want:
                assert (np.asarray(got) == np.asarray(want)).all(), (mode, quality)
    print("written files: read by Pillow; JPEG with the pixels of Pillow's")


def main():
    decode = Decoder()
    with tempfile.TemporaryDirectory() as folder:
        kinds = [jpeg_files, png_files, bmp_files, pnm_files, gif_files]
        if "built without" not in str(decode(raw_tiff(folder, "probe", (4, 4)))):
            kinds.append(tiff_files)
        if features.check("webp_anim"):
            kinds.append(webp_files)
        for files in kinds:
            place = os.path.join(folder, files.__name__)
            os.mkdir(place)
            same_as_pillow(place, decode, files)
        wide_greys(folder, decode)
        transparent_colours(folder, decode)
        orientations(folder, decode)
        scaled_as_pillow(folder, decode)
        refused_when_cut(folder, decode)
        written_files(folder)
        parts(folder)
    decode.close()


main()
