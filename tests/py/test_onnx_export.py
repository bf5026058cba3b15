"""coke export against onnx, onnxruntime and the package safetensors: valid models, the same
outputs, the same bits.

usage: test_onnx_export.py COKE NN_DRIVER EXPORT_DRIVER PAGE   run by tests/support/with_python.sh
"""

import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import exported  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import safetensors  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402


def session_of(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def check_model(path, ours, part):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == 13 and model.ir_version == 7
    weights = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    for constant in ("least_length", "sqrt_half", "half", "one"):
        weights.pop(constant, None)
    # batch norm without scale and shift has none in our file, but ONNX demands them
    for name in [name for name in weights if name not in ours]:
        assert (weights.pop(name) == name.endswith("weight")).all(), name
    heads = ("predictor.",) if part == "all" else ("predictor.", "fc.")
    wanted = {
        name: x
        for name, x in ours.items()
        if not name.startswith(heads) and not name.endswith("num_batches_tracked")
    }
    exported.same_bits(path, weights, wanted)


def export_case(programs, case):
    programs.make(case, "ours.safetensors")
    ours = load_file("ours.safetensors")
    head = case[3] != "none"
    for part in ("backbone", "all"):
        programs.run("export", "ours.safetensors", "-o", "x.onnx", "--part", part, "--force")
        check_model("x.onnx", ours, part)
        session = session_of("x.onnx")
        names = ["features"] + ["projection"] * (head and part == "all")
        assert [o.name for o in session.get_outputs()] == names
        for batch in (1, 5):
            x = exported.images(case, batch, seed=batch)
            outputs = session.run(None, {"images": x})
            want = programs.ask("ours.safetensors", x, head)
            errors = [exported.compare(n, a, b) for n, a, b in zip(names, outputs, want)]
    # another size of images than any before
    x = np.concatenate([x, x[:, :, ::-1]], axis=2)
    x = np.concatenate([x, x], axis=3)
    features = session.run(["features"], {"images": x})[0]
    exported.compare("larger images", features, programs.ask("ours.safetensors", x, False)[0])
    words = " ".join(f"{error:.1e}" for error in errors)
    print(f"{case[0]} x {case[1]} {case[2]} {case[3]}: {words} apart")


def safetensors_case(programs):
    """Written and read by the package."""
    ours = load_file("ours.safetensors")
    programs.run("export", "ours.safetensors", "-o", "y.safetensors", "--part", "all", "--force")
    exported.same_bits("safetensors", load_file("y.safetensors"), ours)
    with safetensors.safe_open("y.safetensors", "numpy") as f:
        assert f.metadata()["format"] == "pt" and f.metadata()["encoder.arch"] == "resnet50"
    save_file({"module.encoder." + k: x for k, x in ours.items()}, "z.safetensors")
    programs.run("import", "z.safetensors", "-o", "back.safetensors")
    exported.same_bits("import", load_file("back.safetensors"), ours)
    half = {k: x.astype("f2") if x.dtype == "f4" else x for k, x in ours.items()}
    save_file(half, "half.safetensors")
    programs.run("import", "half.safetensors", "-o", "half-back.safetensors")
    want = {k: x.astype("f4") if x.dtype == "f2" else x for k, x in half.items()}
    exported.same_bits("f16", load_file("half-back.safetensors"), want)


def a_run(programs, page):
    """A training's folder, and the lines of docs/export.md."""
    words = "--stem cifar --width 0.0625 --dim 16 --recipe cifar-single --size 16 --batch 20"
    words += " -k 4 --epochs 2 --warmup 0 --optimizer sgd --rate 0.01 --threads 1 -q"
    programs.run("train", "synthetic:n=60,size=16", *words.split(), "-o", "run")
    programs.run("export", "run", "--format", "onnx", "--part", "all")
    programs.run("export", "run", "--format", "safetensors")
    x = np.random.default_rng(2).normal(size=(2, 3, 16, 16)).astype("f4")
    names = {"images": x}
    exec(exported.snippet(page, "python", "ONNX"), names)
    exec(exported.snippet(page, "python", "safetensors"), names)
    assert np.allclose(names["mean"], [0.4914, 0.4822, 0.4465], 1e-6)
    assert names["about"]["image.size"] == "16"
    want = programs.ask("run/final.safetensors", x)
    exported.compare("run: features", names["features"], want[0])
    exported.compare("run: projection", names["projection"], want[1])
    final = load_file("run/final.safetensors")
    assert all((final[name] == x).all() for name, x in names["weights"].items())
    # The last checkpoint is the same encoder, and can be exported while the training runs.
    os.remove("run/final.safetensors")
    told = json.loads(programs.run("export", "run", "-o", "last.onnx", "--part", "all", "--json"))
    assert told["read"] == "run/last.safetensors" and told["bytes"] > 0, told
    with open("last.onnx", "rb") as a, open("encoder.onnx", "rb") as b:
        assert a.read() == b.read()
    checkpoint = programs.ask("run/last.safetensors", x)
    exported.compare("checkpoint", checkpoint[1], want[1])


def main():
    coke, maker, asker, page = (os.path.abspath(path) for path in sys.argv[1:])
    programs = exported.Programs(coke, maker, asker)
    with tempfile.TemporaryDirectory() as folder:
        exported.inside(folder)
        for case in exported.CASES[:4]:
            export_case(programs, case)
        safetensors_case(programs)
        export_case(programs, exported.CASES[4])
        export_case(programs, exported.CASES[5])
        a_run(programs, page)
        exported.inside("/")
    versions = onnx.__version__, onnxruntime.__version__, safetensors.__version__
    print("onnx %s, onnxruntime %s, safetensors %s" % versions)


if __name__ == "__main__":
    main()
