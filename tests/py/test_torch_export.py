"""coke export and coke import against PyTorch: the same bits in both directions, the same outputs,
every form of file that torch.save writes, and files that lie.

usage: test_torch_export.py COKE NN_DRIVER EXPORT_DRIVER PAGE   exit code 77: no torch here
"""

import argparse
import collections
import io
import os
import pickle
import struct
import sys
import tempfile
import types
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_weights as theirs  # noqa: E402  (ends with 77 where there is no torch)
import exported  # noqa: E402

from torchvision import models  # noqa: E402

np, torch = theirs.np, theirs.torch


def build(case):
    arch, width, stem, head, predictor, size, channels = case
    if head == "none":
        net = theirs.Encoder(arch, width, stem, channels, "linear", exported.DIM)
        net.fc = torch.nn.Identity()
        return net.eval()
    return theirs.build(
        argparse.Namespace(
            arch=arch,
            width=width,
            stem=stem,
            head=head,
            predictor=predictor,
            channels=channels,
            dim=exported.DIM,
            seed=1,
        )
    ).eval()


def arrays(tensors):
    return {name: t.numpy() for name, t in tensors.items()}


def load(path):
    whole, safe = torch.load(path), torch.load(path, weights_only=True)
    assert list(whole) == list(safe)
    return safe


# ---- ours in PyTorch -------------------------------------------------------------------------


def export_case(programs, case):
    programs.make(case, "ours.safetensors")
    ours = theirs.read_tensors("ours.safetensors")
    programs.run("export", "ours.safetensors", "-o", "x.pth", "--part", "all", "--force")
    state = load("x.pth")
    exported.same_bits(f"{case} .pth", arrays(state), ours)
    net = build(case)
    net.load_state_dict(state, strict=True)
    x = exported.images(case)
    net.fc = torch.nn.Identity()
    with torch.no_grad():
        features = net(torch.from_numpy(x)).numpy()
    error = exported.compare("features", programs.ask("ours.safetensors", x, False)[0], features)
    # back again, by another way
    programs.run("import", "x.pth", "-o", "back.safetensors", "--force")
    exported.same_bits("import of .pth", theirs.read_tensors("back.safetensors"), ours)
    programs.run("export", "back.safetensors", "-o", "y.pth", "--part", "all", "--force")
    with open("x.pth", "rb") as a, open("y.pth", "rb") as b:
        assert a.read() == b.read(), "the same weights are not the same file"
    print(f"{case[0]} x {case[1]} {case[2]} {case[3]}: same bits, features {error:.1e} apart")


def alignment(path):
    """Every entry is stored, at a multiple of 64."""
    with zipfile.ZipFile(path) as z, open(path, "rb") as f:
        assert z.testzip() is None
        for entry in z.infolist():
            assert entry.compress_type == zipfile.ZIP_STORED
            f.seek(entry.header_offset + 26)
            name, extra = struct.unpack("<HH", f.read(4))
            assert (entry.header_offset + 30 + name + extra) % 64 == 0, entry.filename


def authors_linear_evaluation(programs):
    """What their script does with --pretrained: keeps module.encoder.* but for the head."""
    case = ("resnet18", 1, "imagenet", "mlp3", 1, 32, 3)
    programs.make(case, "big.safetensors")
    for part in ("backbone", "all"):
        words = ["--names", "authors", "--part", part, "--force"]
        programs.run("export", "big.safetensors", "-o", "authors.pth", *words)
        checkpoint = load("authors.pth")
        assert checkpoint["arch"] == "resnet18"
        kept = {}
        for name, t in checkpoint["state_dict"].items():
            if name.startswith("module.encoder") and not name.startswith("module.encoder.fc"):
                kept[name[len("module.encoder.") :]] = t
        net = models.resnet18()
        result = net.load_state_dict(kept, strict=False)
        assert set(result.missing_keys) == {"fc.weight", "fc.bias"}, result
        assert not result.unexpected_keys
    names = list(checkpoint["state_dict"])
    assert "module.predictor.0.weight" in names and "module.encoder.fc.7.bias" in names
    programs.run("import", "authors.pth", "-o", "again.safetensors")
    ours = theirs.read_tensors("big.safetensors")
    exported.same_bits("authors' names", theirs.read_tensors("again.safetensors"), ours)
    alignment("authors.pth")
    print("the authors' linear evaluation takes it")


def detectron2(programs):
    """The names that MoCo's conversion gives."""
    programs.make(exported.CASES[3], "r50.safetensors")
    programs.run("export", "r50.safetensors", "--format", "detectron2", "-o", "d2.pth")
    whole = load("d2.pth")
    assert whole["matching_heuristics"] is True and whole["__author__"] == "coke"
    expected = {}
    for name, x in theirs.read_tensors("r50.safetensors").items():
        if name.startswith(("fc.", "predictor.")):
            continue
        words = name.split(".")
        if words[0].startswith("layer"):
            words[0] = f"res{int(words[0][5:]) + 1}"
        else:
            words.insert(0, "stem")
        if "downsample" in words:
            i = words.index("downsample")
            words[i : i + 2] = ["shortcut"] if words[i + 1] == "0" else ["shortcut", "norm"]
        for i, word in enumerate(words):
            if word.startswith("bn"):
                words[i : i + 1] = [f"conv{word[2:]}", "norm"]
        expected[".".join(words)] = x
    exported.same_bits("detectron2", arrays(whole["model"]), expected)
    assert "stem.conv1.norm.running_var" in expected and "res5.0.shortcut.norm.bias" in expected
    text = programs.run("export", "d2.pth", "--format", "detectron2", "-o", "d.pkl", code=2)
    assert "name the file .pth" in text
    print("detectron2: the names of MoCo's conversion")


# ---- PyTorch's in ours -------------------------------------------------------------------------


def import_forms(programs):
    """All that torch.save makes of one network."""
    case = exported.CASES[0]
    net = build(case)
    for t in net.state_dict().values():
        if t.dtype == torch.float32:
            torch.nn.init.normal_(t)
            t.abs_()  # variances
    state = net.state_dict()
    bits = arrays(state)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    sum(p.sum() for p in net.parameters()).backward()
    optimizer.step()
    state = {name: torch.from_numpy(x.copy()) for name, x in bits.items()}
    whole = {"epoch": 3, "arch": "resnet18", "state_dict": state, "loss": 0.5}
    whole["optimizer"] = optimizer.state_dict()
    ordered = collections.OrderedDict(state)
    ordered._metadata = {"": {"version": 1}}
    channels_last = {
        name: t.to(memory_format=torch.channels_last) if t.dim() == 4 else t
        for name, t in state.items()
    }
    storage = torch.zeros(10 + sum(t.numel() for t in state.values() if t.dim() == 1))
    shared, at = dict(state), 10  # all biases in one storage, behind an offset
    for name, t in state.items():
        if t.dim() == 1:
            shared[name] = storage[at : at + t.numel()]
            shared[name].copy_(t)
            at += t.numel()
    forms = {
        "plain": (state, {}),
        "training": (whole, {}),
        "ordered": (ordered, {}),
        "old": (whole, {"_use_new_zipfile_serialization": False}),
        "old-shared": (shared, {"_use_new_zipfile_serialization": False}),
        "protocol-4": (whole, {"pickle_protocol": 4}),
        "channels-last": (channels_last, {}),
        "shared": (shared, {}),
        "parameters": (dict(net.named_parameters()) | dict(net.named_buffers()), {}),
        "model": ({"model": state}, {}),
        "module": ({"module." + k: v for k, v in state.items()}, {}),
        "backbone": ({"backbone." + k: v for k, v in state.items()}, {}),
    }
    moved = arrays({k: v.detach() for k, v in forms["parameters"][0].items()})
    for name, (thing, options) in forms.items():
        torch.save(thing, "form.pth", **options)
        programs.run("import", "form.pth", "-o", "form.safetensors", "--force")
        want = moved if name == "parameters" else bits
        exported.same_bits(name, theirs.read_tensors("form.safetensors"), want)
    print(f"{len(forms)} forms of files: same bits")
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        short = {k: v.to(dtype) if v.dtype == torch.float32 else v for k, v in state.items()}
        torch.save(short, "form.pth")
        programs.run("import", "form.pth", "-o", "form.safetensors", "--force")
        want = arrays({k: v.float() if v.is_floating_point() else v for k, v in short.items()})
        exported.same_bits(str(dtype), theirs.read_tensors("form.safetensors"), want)
    return state


def import_moco(programs, state):
    """Two networks and a queue: the trained one is taken, the others are named."""
    both = {f"module.encoder_{c}.{k}": v for c in "kq" for k, v in state.items()}
    both["module.encoder_q.conv1.weight"] = state["conv1.weight"] * 2
    both["module.queue"] = torch.zeros(4, 8)
    torch.save({"epoch": 1, "state_dict": both}, "moco.pth")
    text = programs.run("import", "moco.pth", "-o", "moco.safetensors", "--part", "backbone")
    assert "left out: module.encoder_k.*, module.encoder_q.*, module.queue" in text, text
    ours = theirs.read_tensors("moco.safetensors")
    assert (ours["conv1.weight"] == 2 * state["conv1.weight"].numpy()).all()
    assert not [name for name in ours if name.startswith(("fc", "predictor"))]
    programs.run("import", "moco.pth", "-o", "k.safetensors", "--prefix", "module.encoder_k.")
    exported.same_bits("--prefix", theirs.read_tensors("k.safetensors"), arrays(state))
    twins = {f"{c}.{k}": v for c in ("student", "teacher") for k, v in state.items()}
    torch.save(twins, "twins.pth")
    text = programs.run("import", "twins.pth", "-o", "t.safetensors", code=2)
    assert "prefix, student. or teacher." in text, text


class LightlyBlock(torch.nn.Module):
    """The names of lightly's own blocks, of which only the shortcut differs."""

    def __init__(self, block):
        super().__init__()
        self.conv1, self.bn1, self.conv2, self.bn2 = (block.conv1, block.bn1, block.conv2,
                                                      block.bn2)
        self.shortcut = block.downsample or torch.nn.Sequential()


def import_others(programs):
    """The layouts of lightly, DINO, solo-learn and VISSL, with the settings that they save."""
    torch.manual_seed(6)
    net, other = models.resnet18().eval(), models.resnet18().eval()
    backbone = {k: v for k, v in net.state_dict().items() if not k.startswith("fc.")}
    rest = {k: v for k, v in other.state_dict().items() if not k.startswith("fc.")}

    def wrapped(prefix, state):
        return {prefix + k: v for k, v in state.items()}

    def imported(name, thing, left_out, *options):
        torch.save(thing, "other.pth")
        text = programs.run("import", "other.pth", "-o", "other.safetensors", "--force", *options)
        assert left_out in text, text
        want = rest if options else backbone
        exported.same_bits(name, theirs.read_tensors("other.safetensors"), arrays(want))

    head = {"projection_head.layers.0.weight": torch.zeros(8, 512)}
    children = list(net.children())[:-1]
    sequential = wrapped("backbone.", torch.nn.Sequential(*children).state_dict())
    imported("lightly", {"epoch": 3, "state_dict": {**sequential, **head}}, "projection_head.*")
    imported("lightly alone", torch.nn.Sequential(*children).state_dict(), "")
    layers = [torch.nn.Sequential(*map(LightlyBlock, layer)) for layer in children[4:8]]
    own = torch.nn.Sequential(children[0], children[1], *layers)
    imported("lightly's blocks", {**wrapped("backbone.", own.state_dict()), **head}, "left out")

    dino = {"student": {**wrapped("module.backbone.", rest),
                        "module.head.mlp.0.weight": torch.zeros(8, 512)},
            "teacher": wrapped("module.backbone.", backbone), "epoch": 4,
            "optimizer": {"state": {0: {"momentum": torch.zeros(3)}}, "param_groups": []},
            "args": argparse.Namespace(arch="resnet18", lr=0.1, crops=[1, 2]),
            "dino_loss": {"center": torch.zeros(1, 8)}}
    imported("DINO", dino, "student.module.backbone.*")
    imported("DINO's student", dino, "teacher.module.backbone.*", "--prefix",
             "student.module.backbone.")

    omegaconf = types.ModuleType("omegaconf.dictconfig")  # what it pickles like
    sys.modules["omegaconf"] = types.ModuleType("omegaconf")
    sys.modules["omegaconf.dictconfig"] = omegaconf
    omegaconf.DictConfig = type("DictConfig", (), {"__module__": "omegaconf.dictconfig"})
    config = omegaconf.DictConfig()
    config.__dict__.update(_content={"lr": 0.3}, _metadata=collections.defaultdict(dict))
    solo = {**wrapped("backbone.", backbone), **wrapped("momentum_backbone.", rest),
            "classifier.weight": torch.zeros(10, 512), "queue": torch.zeros(2, 8, 4)}
    imported("solo-learn", {"epoch": 5, "pytorch-lightning_version": "1.6.4", "state_dict": solo,
                            "hyper_parameters": config, "callbacks": {}, "loops": {"a": [1]}},
             "momentum_backbone.*")

    trunk, heads = wrapped("_feature_blocks.", backbone), {"0.clf.0.weight": torch.zeros(8, 512)}
    model = {"trunk": trunk, "heads": heads}
    vissl = {"phase": 3, "phase_idx": 3, "iteration": 40, "loss": {"prototypes": torch.zeros(8)},
             "iteration_num": 40, "train_phase_idx": 3, "type": "consolidated",
             "classy_state_dict": {"train": True, "base_model": {"model": model, "meters": {}},
                                   "optimizer": {"optim": {"state": {}}}, "losses": [], "hooks": {}}}
    imported("VISSL", vissl, "heads.0.*")
    imported("VISSL's trunk", {"model_state_dict": trunk}, "")
    print("lightly, DINO, solo-learn and VISSL: imported")


def export_others(programs):
    """What loads the checkpoints of lightly, solo-learn, MoCo, DINO and VISSL loads ours."""
    case = ("resnet18", 1, "imagenet", "mlp2", 0, 32, 3)
    programs.make(case, "own.safetensors")
    own = theirs.read_tensors("own.safetensors")
    backbone = {k: v for k, v in own.items() if not k.startswith(("fc.", "predictor."))}
    layouts = {"lightly": ("backbone.", ["state_dict"]), "solo-learn": ("backbone.", ["state_dict"]),
               "moco": ("module.encoder_q.", ["state_dict"]), "dino": ("module.backbone.", ["teacher"]),
               "vissl": ("_feature_blocks.", ["classy_state_dict", "base_model", "model", "trunk"])}
    for name, (prefix, path) in layouts.items():
        programs.run("export", "own.safetensors", "-o", "theirs.pth", "--names", name, "--force")
        state = load("theirs.pth")
        for word in path:
            state = state[word]
        assert all(k.startswith(prefix) for k in state), list(state)[:3]
        net = models.resnet18()
        net.fc = torch.nn.Identity()
        whole = torch.nn.Sequential(*net.children()) if name == "lightly" else net
        whole.load_state_dict({k[len(prefix):]: v for k, v in state.items()})
        exported.same_bits(name, arrays(net.state_dict()), backbone)
        programs.run("import", "theirs.pth", "-o", "again.safetensors", "--force")
        exported.same_bits(name + " again", theirs.read_tensors("again.safetensors"), backbone)
    text = programs.run("export", "own.safetensors", "-o", "d.pth", "--names", "dino", "--part", "all",
                        code=2)
    assert "use part backbone" in text, text
    print("lightly, solo-learn, MoCo, DINO and VISSL: exported")


def import_torchvision(programs):
    """A network of theirs through ours and back: bits and outputs."""
    torch.manual_seed(5)
    net = models.resnet18().eval()
    torch.save(net.state_dict(), "r18.pth")
    programs.run("import", "r18.pth", "-o", "r18.safetensors")
    x = np.random.default_rng(1).normal(size=(2, 3, 64, 64)).astype("f4")
    programs.run("export", "r18.safetensors", "-o", "r18-back.pth", "--part", "all")
    exported.same_bits("resnet18", arrays(load("r18-back.pth")), arrays(net.state_dict()))
    net.fc = torch.nn.Identity()
    with torch.no_grad():
        want = net(torch.from_numpy(x)).numpy()
    error = exported.compare("resnet18", programs.ask("r18.safetensors", x, False)[0], want)
    # and as it is, without an import
    programs.run("embed", "--weights", "r18.pth", "synthetic:n=3,size=32", "-o", "e.npy", "-q")
    assert np.load("e.npy").shape == (3, 512)
    print(f"torchvision's resnet18: features {error:.1e} apart")


# ---- the page --------------------------------------------------------------------------------


def documented(programs, page):
    """The lines of docs/export.md for PyTorch."""
    programs.run("export", "r18.safetensors", "--format", "pth")
    names = {}
    exec(exported.snippet(page, "python", "PyTorch"), names)
    assert not names["net"].training


# ---- files that are wrong --------------------------------------------------------------------


class Call:
    """Pickles as a call of anything."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


def refuse(programs, what, words, code=3):
    with open("bad.pth", "wb") as f:
        f.write(what)
    text = programs.run("import", "bad.pth", "-o", "out", code=code)
    assert words in text, f"'{words}' is not in: {text}"
    assert not os.path.exists("out")


def archive(pickled, **entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        z.writestr("archive/version", "3\n")
        for name, data in entries.items():
            z.writestr(f"archive/data/{name[1:]}", data)
    return out.getvalue()


def saved(thing, **options):
    out = io.BytesIO()
    torch.save(thing, out, **options)
    return out.getvalue()


def hostile(programs, state):
    for old in (False, True):
        options = {"_use_new_zipfile_serialization": not old}
        for thing, name in (
            (Call(os.system, "touch pwned"), "system"),
            (Call(eval, "1"), "eval"),
            (Call(getattr, "x", "upper"), "getattr"),
            (argparse.Namespace(lr=Call(os.system, "touch pwned")), "system"),
            (collections.Counter("aab"), "collections.Counter"),
            (torch.nn.Linear(2, 2), "torch.nn"),
        ):
            refuse(programs, saved({"state_dict": state, "x": thing}, **options), name)
    assert not os.path.exists("pwned")
    refuse(programs, archive(pickle.dumps({"a": 1}, 2)), "no dict of tensors")
    refuse(programs, archive(pickle.dumps({"a": 1}, 0)), "opcode")
    deep = b"\x80\x02" + b"]" * 500000 + b"a" * 499999 + b"."
    refuse(programs, archive(deep), "no dict of tensors")
    bomb = b"\x80\x02]q\x00" + b"".join(b"](h%ch%ceq%c" % (i, i, i + 1) for i in range(200))
    refuse(programs, archive(bomb + b"."), "not end with exactly one object")
    refuse(programs, archive(b"\x80\x02]r\xff\xff\xff\x7f."), "memo")
    refuse(programs, archive(b"\x80\x02X\xff\xff\xff\xffabc."), "in the middle")
    refuse(programs, archive(b"\x80\x02" + b"N" * (3 << 20)), "limit of 2097152 bytes")
    whole = saved({"state_dict": state})
    refuse(programs, whole[: len(whole) // 2], "truncated")
    place = whole.index(state["layer4.0.conv2.weight"].numpy().tobytes())
    damaged = whole[: place + 5] + bytes([whole[place + 5] ^ 1]) + whole[place + 6 :]
    refuse(programs, damaged, "checksum")
    squeezed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as a, zipfile.ZipFile(
        squeezed, "w", zipfile.ZIP_DEFLATED
    ) as b:
        for entry in a.infolist():
            b.writestr(entry.filename, a.read(entry))
    refuse(programs, squeezed.getvalue(), "compressed")
    old = saved({"state_dict": state}, _use_new_zipfile_serialization=False)
    refuse(programs, old[:-4], "truncated")
    refuse(programs, b"", "too few")
    refuse(programs, b"PK\3\4" + bytes(100), "without a directory")
    scripted = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), scripted)
    refuse(programs, scripted.getvalue(), "TorchScript")


def unfit(programs, state):
    def without(name):
        return {k: v for k, v in state.items() if k != name}

    refuse(programs, saved(without("layer2.1.bn2.bias")), "layer2.1.bn2.bias")
    refuse(programs, saved(without("layer4.1.conv1.weight")), "2, 2, 2 and 1 blocks")
    refuse(programs, saved(state | {"bn9.weight": torch.ones(1)}), "bn9.weight")
    refuse(programs, saved(state | {"bn1.bias": torch.ones(7)}), "bn1.bias")
    refuse(programs, saved(state | {"bn1.bias": state["bn1.bias"] / 0}), "bn1.bias")
    refuse(programs, saved(state | {"fc.0.weight": torch.ones(9, 9)}), "layer fc.0 maps 9 values to 9")
    refuse(programs, saved(models.vgg11(num_classes=2).features.state_dict()), "nor a torchvision ResNet")
    refuse(programs, saved({"x": torch.ones(1).expand(1 << 40)}), "than its storage")
    expand = state | {"conv1.weight": torch.ones(1).expand(16, 3, 7, 7)}
    refuse(programs, saved(expand), "more elements than its storage")


def main():
    coke, maker, asker, page = (os.path.abspath(path) for path in sys.argv[1:])
    programs = exported.Programs(coke, maker, asker)
    with tempfile.TemporaryDirectory() as folder:
        exported.inside(folder)
        for case in exported.CASES:
            export_case(programs, case)
        authors_linear_evaluation(programs)
        detectron2(programs)
        state = import_forms(programs)
        import_moco(programs, state)
        import_others(programs)
        export_others(programs)
        import_torchvision(programs)
        documented(programs, page)
        hostile(programs, state)
        unfit(programs, state)
        exported.inside("/")
    print(f"torch {torch.__version__}")


if __name__ == "__main__":
    main()
